#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "messages.hpp"
#include "store/index_file.hpp"
#include "store/load.hpp"
#include "store/run_writer.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

void write_good(const std::string& path, const store::run_identity& identity = {"good", 1, 0, 0, false}) {
  store::run_writer writer(path, identity);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const std::vector<float> values = {1, 2, 3};
    const std::vector<double> sketch(256, 1.5);
    detail::capture_row row{};
    detail::shape_row shape{};
    shape.rank = 1;
    shape.extent[0] = 3;
    row.seq = id;
    row.count = 3;
    row.hidden = 1;
    row.pending_factor = 8;
    row.dtype = static_cast<std::uint16_t>(dtype::f32);
    writer.write(message(message_kind::capture, id, row)
                     .text(field::name, "x")
                     .row(field::shape, shape)
                     .field(field::sketch, raw(sketch))
                     .field(field::values, raw(values))
                     .done());
  }
  writer.commit(3);
  writer.close();
}

// Makes dir/<variant>.h5 of dir/good.h5, for each of the variants.
void make(const scratch& dir, const std::string& variants) {
  const std::string command =
      "/usr/bin/python3 " NUMDIFF_TEST_VARIANTS " " + (dir / "good.h5") + " " + (dir / "") + " " + variants;
  REQUIRE(std::system(command.c_str()) == 0);
}

std::string refusal(const std::string& path) {
  try {
    store::load_run(path);
  } catch (const store::error& e) {
    return e.what();
  }
  return "loaded";
}

struct refused {
  const char* variant;
  const char* object;    // named in the sentence
  const char* sentence;  // part of it
};

}  // namespace

TEST_CASE("a file with an extra member, table and enum value is read") {
  const scratch dir;
  write_good(dir / "good.h5");
  make(dir, "extra_member_table_enum");
  const model::run run = store::load_run(dir / "extra_member_table_enum.h5");
  const auto& c = run.ranks.at(0).captures;
  REQUIRE(c.size() == 3);
  CHECK(c[2].seq == 3);
  CHECK(c[2].role == 77);
  CHECK(c[2].pending_factor == 8);
  CHECK(run.ranks[0].strings[c[2].name] == "x");
}

TEST_CASE("missing members and tables are not recorded") {
  const scratch dir;
  write_good(dir / "good.h5");
  make(dir, "missing_member_and_table");
  const model::run run = store::load_run(dir / "missing_member_and_table.h5");
  const auto& c = run.ranks.at(0).captures;
  REQUIRE(c.size() == 3);
  CHECK(c[0].pending_factor == 1);
  CHECK(c[0].hidden == 0);
  CHECK(c[0].count == 3);
}

TEST_CASE("bad files are refused with one sentence that names file, place and reason") {
  const scratch dir;
  write_good(dir / "good.h5");
  const refused all[] = {
      {"other_member_type", "/captures", "member count has another type"},
      {"soft_link", "/captures", "link"},
      {"external_link", "/captures", "link"},
      {"link_in_path", "/payload", "link"},
      {"external_storage", "/string_heap", "in another file"},
      {"virtual_dataset", "/captures", "virtual"},
      {"filtered", "/captures", "filtered"},
      {"group_for_dataset", "/captures", "not a dataset"},
      {"lying_rows", "/captures", "more than it stores"},
      {"lying_payload", "/payload/f32", "more than it stores"},
      {"no_usable_commit", "/commits", "no usable commit"},
      {"no_commits", "/commits", "missing"},
      {"newer_version", "", "format version 2"},
      {"bad_sketch_3", "/captures", "outside /sketches"},
      {"bad_sketch_-7", "/captures", "outside /sketches"},
      {"bad_payload_10", "/captures", "outside its payload"},
      {"bad_count_1000000", "/captures", "outside its payload"},
      {"bad_count_-1", "/captures", "negative count"},
      {"bad_shape_5", "/captures", "outside /shapes"},
      {"bad_histogram_9", "/captures", "outside /histograms"},
      {"string_outside", "/strings", "outside the heap"},
      {"strings_that_share", "/strings", "shares bytes"},
      {"shape_rank", "/shapes", "8 dimensions"},
      {"sketch_width", "/sketches", "shape"},
      {"tiny_rows", "/captures", "impossible size"},
      {"other_kind_old", "", "not a numdiff run"},
      {"other_kind_new", "", "not a numdiff run"},
      {"empty", "", "empty file"},
      {"text", "", "not an HDF5 file"},
      {"cut_half", "", "damaged or truncated"},
      {"cut_head", "", "damaged or truncated"},
  };
  std::string variants;
  for (const refused& r : all) variants.append(r.variant).append(" ");
  make(dir, variants);
  for (const refused& r : all) {
    INFO(r.variant);
    const std::string path = dir / (std::string(r.variant) + ".h5");
    const std::string said = refusal(path);
    INFO(said);
    CHECK(said.find(path + ": ") == 0);
    CHECK(said.find(r.object) != std::string::npos);
    CHECK(said.find(r.sentence) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("what is no file is refused") {
  const scratch dir;
  CHECK(refusal(dir / "missing.h5").find("No such file") != std::string::npos);
  std::filesystem::create_directory(dir / "folder.h5");
  CHECK(refusal(dir / "folder.h5").find("is not a file") != std::string::npos);
  CHECK(::mkfifo((dir / "pipe.h5").c_str(), 0600) == 0);
  CHECK(refusal(dir / "pipe.h5").find("is not a file") != std::string::npos);
}

TEST_CASE("a rank file of another run or rank is refused by name") {
  const scratch dir;
  const std::string index = dir / "run.h5";
  store::write_index(index, "mine", 2, 0);
  write_good(dir / "run.rank00000.h5", {"mine", 2, 0, 0, false});
  SUBCASE("run") {
    write_good(dir / "run.rank00001.h5", {"theirs", 2, 1, 0, false});
    CHECK(refusal(index) ==
          (dir / "run.rank00001.h5") + ": belongs to run theirs, the index " + index + " to run mine");
  }
  SUBCASE("rank") {
    write_good(dir / "run.rank00001.h5", {"mine", 2, 0, 0, false});
    CHECK(refusal(index) == (dir / "run.rank00001.h5") + ": is of rank 0, not of rank 1");
  }
  SUBCASE("a missing one is a warning") {
    const model::run run = store::load_run(index);
    CHECK(run.missing == std::vector<std::int32_t>{1});
    CHECK(run.ranks.size() == 1);
  }
}
