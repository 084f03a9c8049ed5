#pragma once
// The ops of the optimizer.
#include <string>
#include <vector>

#include "parameters.hpp"
#include "tensor.hpp"

namespace minigpt {

// The accumulated gradient over the number of micro-batches.
tensor mean_gradient(const engine& e, const parameter& p);
// gradient / loss scale, in the master format. Without a loss scale a cast, or the gradient itself.
tensor unscale(const engine& e, const parameter& p);
// Sum of the squares of all elements; over tp each rank has the part of its shards.
struct squared {
  std::string name;  // ranks may hold other tensors: each goes by its own name
  const tensor& values;
};
tensor sum_of_squares(const engine& e, const std::string& name, const std::vector<squared>& all,
                      const placement& place);
tensor square_root(const engine& e, const std::string& name, const tensor& x);
tensor clip_by_norm(const engine& e, const std::string& name, const tensor& x, const tensor& norm);
// Updates value, m and v.
void adamw(const engine& e, parameter& p, const tensor& gradient);

}  // namespace minigpt
