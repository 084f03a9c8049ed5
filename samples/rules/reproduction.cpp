#include "reproduction.hpp"

#include <algorithm>
#include <string_view>

namespace reproduce {

namespace {

std::vector<const reproduction*>& registry() {
  static std::vector<const reproduction*> list;
  return list;
}

}  // namespace

reproduction::reproduction(const char* id, function what, expectation e) : rule(id), run(what), expected(e) {
  registry().push_back(this);
}

std::vector<const reproduction*> reproductions() {
  std::vector<const reproduction*> list = registry();
  std::ranges::sort(list, {}, [](const reproduction* r) { return std::string_view(r->rule); });
  return list;
}

}  // namespace reproduce
