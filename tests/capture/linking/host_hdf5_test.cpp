// A program that links HDF5 and has a file open while the sink writes through its own copy.
#include <doctest/doctest.h>
#include <hdf5.h>

#include "capture/support/recorded.hpp"
#include "numdiff/numdiff.hpp"
#include "numdiff/session.hpp"

TEST_CASE("the host's HDF5 and the sink's do not meet") {
  const test::temporary_directory directory;
  const std::string own = directory.file("host.h5"), run = directory.file("run.h5");
  const hid_t file = H5Fcreate(own.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(file >= 0);
  setenv("NUMDIFF_SINK", HDF5_SINK_PATH, 1);
  {
    using namespace numdiff::dtypes_short;
    numdiff::session_options o;
    o.file = run.c_str();
    numdiff::session s(o);
    REQUIRE_MESSAGE(s.active(), s.last_error());
    const float x[4] = {1, 2, 3, 4};
    for (int step = 0; step < 10; ++step) {
      NUMDIFF_STEP(step);
      NUMDIFF_OP(op, "y", copy, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "x", numdiff::view(x, {4}));
      const hsize_t size = 4;
      const hid_t space = H5Screate_simple(1, &size, nullptr);
      const hid_t data = H5Dcreate2(file, ("d" + std::to_string(step)).c_str(), H5T_NATIVE_FLOAT, space,
                                    H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      CHECK(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
      H5Dclose(data);
      H5Sclose(space);
      CHECK(s.flush());
    }
    CHECK(s.statistics().captures == 10);
  }
  CHECK(H5Fclose(file) >= 0);
  CHECK_FALSE(std::filesystem::exists(run + ".tail"));
  // Errors of the host are still printed by the host's own settings only; both files are whole.
  for (const std::string& name : {own, run}) {
    const hid_t again = H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(again >= 0);
    H5Fclose(again);
  }
}
