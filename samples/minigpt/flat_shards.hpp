#pragma once
// A sharded optimizer (Rajbhandari et al., 2020): all parameters behind each other in one flat buffer, of
// which every data-parallel rank updates an even part. That part is a piece of some parameters, all of
// others, and none of most.
#include <string>
#include <vector>

#include "ops.hpp"
#include "parameters.hpp"

namespace minigpt {

class flat_shards {
 public:
  flat_shards(const engine& e, const std::vector<parameter*>& list);

  // What a member of the data group holds of a parameter of the list: elements of this rank's shard of it.
  [[nodiscard]] numdiff::segment piece(std::size_t which, std::int32_t member) const;

  // This rank's piece of a tensor that lies as the parameter's value does.
  [[nodiscard]] tensor cut(const engine& e, std::size_t which, const tensor& x) const;
  // This rank's piece of the sum of the gradients of all ranks.
  [[nodiscard]] tensor reduce_scatter(const engine& e, std::size_t which, const std::string& name,
                                      const tensor& gradient) const;
  // The whole value, from the pieces of all ranks.
  [[nodiscard]] tensor all_gather(const engine& e, std::size_t which, const std::string& name,
                                  const tensor& mine) const;

 private:
  [[nodiscard]] placement place_of(const engine& e, std::size_t which) const;

  std::vector<parameter*> list_;
  std::vector<std::int64_t> offsets_;  // of each parameter, and of the end
  std::int32_t members_;
};

}  // namespace minigpt
