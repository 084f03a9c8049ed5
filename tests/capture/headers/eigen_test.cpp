#include "numdiff/eigen.hpp"

#include <doctest/doctest.h>

#include "capture/support/recording.hpp"

TEST_CASE("Eigen's objects are seen with their shape and strides") {
  using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  test::recording r(numdiff::level::tensors);
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  const row_major rows = columns;
  const Eigen::VectorXd vector = Eigen::VectorXd::LinSpaced(4, 0, 3);
  {
    NUMDIFF_OP(op, "e", copy, numdiff::dtypes(columns, numdiff::dtype::f32, vector));
    NUMDIFF_INPUT(op, "columns", columns);
    NUMDIFF_INPUT(op, "rows", rows);
    NUMDIFF_INPUT(op, "map", Eigen::Map<const row_major>(rows.data(), 2, 3));
    NUMDIFF_INPUT(op, "block", columns.block(0, 1, 2, 2));
    NUMDIFF_INPUT(op, "vector", vector);
  }
  const auto all = r.finish();
  const auto captures = test::captures(all);
  REQUIRE(captures.size() == 5);
  const auto values = [&](std::size_t i) { return captures[i].fields.at(numdiff::detail::field::values); };
  CHECK(values(0) == values(1));
  CHECK(values(0) == values(2));
  float block[4] = {};
  std::memcpy(block, values(3).data(), sizeof block);
  CHECK((block[0] == 2 && block[1] == 3 && block[2] == 5 && block[3] == 6));
  CHECK(captures[4].as<numdiff::detail::capture_row>().dtype == static_cast<int>(numdiff::dtype::f64));
  CHECK(test::ops(all).at(0).as<numdiff::detail::op_row>().output_dtype ==
        static_cast<int>(numdiff::dtype::f64));
}
