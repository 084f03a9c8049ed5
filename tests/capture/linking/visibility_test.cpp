#include <dlfcn.h>
#include <doctest/doctest.h>

#include "capture/support/recording.hpp"

void op_in_hidden_library();

TEST_CASE("a library with hidden symbols and a plug-in loaded locally record into the program's session") {
  void* plugin = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(plugin != nullptr);
  auto* op_in_plugin = reinterpret_cast<int (*)()>(dlsym(plugin, "op_in_plugin"));
  REQUIRE((op_in_plugin != nullptr));
  CHECK(op_in_plugin() == 0);
  test::recording r;
  {
    NUMDIFF_SCOPE("outer");
    op_in_hidden_library();
    CHECK(op_in_plugin() == 1);
  }
  dlclose(plugin);
  CHECK(r.session().active());
  const auto ops = test::ops(r.finish());
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].text(numdiff::detail::field::name) == "in a hidden library");
  CHECK(ops[1].text(numdiff::detail::field::name) == "in a plug-in");
  CHECK(ops[1].text(numdiff::detail::field::scope) == "outer");
}
