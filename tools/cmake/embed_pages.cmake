# Writes C++ with the text of every page: cmake -DFOLDER=docs/rules -DOUTPUT=rule_pages.cpp -P embed_pages.cmake
file(GLOB pages ${FOLDER}/ND*.md)
set(rows "")
foreach(page ${pages})
  get_filename_component(id ${page} NAME_WE)
  file(READ ${page} text)
  string(APPEND rows "    {\"${id}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"rule_pages.hpp\"

namespace numdiff::program {

namespace {
constexpr rule_page pages[] = {
${rows}};
}  // namespace

std::span<const rule_page> rule_pages() {
  return pages;
}

}  // namespace numdiff::program
")
