#pragma once
// How numdiff sees a tensor of the sample.
#include <numdiff/numdiff.hpp>

#include "products.hpp"
#include "tensor.hpp"

namespace minigpt {

// As it is stored.
numdiff::view view_of(const tensor& t);
// The same elements in the same order with other extents.
numdiff::view view_as(const tensor& t, const shape& extents);
// [tokens, k, width] as [k, tokens, width].
numdiff::view choices_first(const tensor& t);
// The matrices that a product reads or writes: strides say what is transposed.
numdiff::view view_of(const tensor& t, const matrices& m);

}  // namespace minigpt
