#pragma once
// One function for each op of the network: decode, compute, encode, and tell numdiff. Kinds and the order of
// what is read and written follow docs/numerics.md, so that numdiff can replay each op from its inputs.
#include <initializer_list>
#include <string>
#include <vector>

#include "engine.hpp"
#include "products.hpp"
#include "tensor.hpp"

namespace minigpt {

// Gradients carry the loss scale; what an op reads of them is marked.
enum class carries { nothing, loss_scale };

// ops_product.cpp
struct operand {
  const tensor& values;
  matrices shape;
  const char* name;
  enum kind { activation, weight, gradient } what = activation;
};
struct product_result {
  dtype type;
  shape extents;
  matrices layout;
  placement place;
  carries factors = carries::nothing;
  bool scale_after_store = false;  // the fault score-overflow
};
// alpha * A * B, rounded once to the result's type.
tensor product(const engine& e, const std::string& name, const operand& a, const operand& b,
               const product_result& r, double alpha = 1);

// ops_norm.cpp: RMSNorm, or LayerNorm where beta has elements.
inline constexpr double norm_epsilon = 1e-5;
tensor norm(const engine& e, const std::string& name, const tensor& x, const tensor& gamma,
            const tensor& beta);
struct norm_gradients {
  tensor dx, dgamma, dbeta;
};
norm_gradients norm_gradient(const engine& e, const std::string& name, const tensor& dy, const tensor& x,
                             const tensor& gamma, const tensor& beta);

// ops_attention.cpp
inline constexpr double rope_base = 10000;
tensor rope(const engine& e, const std::string& name, const tensor& x, const tensor& positions,
            carries factors);
tensor mask(const engine& e, const std::string& name, const tensor& scores);
tensor softmax(const engine& e, const std::string& name, const tensor& scores);
tensor softmax_gradient(const engine& e, const std::string& name, const tensor& dp, const tensor& p);

// ops_elementwise.cpp
tensor add(const engine& e, const std::string& name, std::initializer_list<const tensor*> terms,
           carries factors);
tensor residual(const engine& e, const std::string& name, const tensor& x, const tensor& y);
tensor swiglu(const engine& e, const std::string& name, const tensor& gate, const tensor& up);
struct swiglu_gradients {
  tensor dgate, dup;
};
swiglu_gradients swiglu_gradient(const engine& e, const std::string& name, const tensor& dy,
                                 const tensor& gate, const tensor& up);
// x with a share of its elements zero and the rest divided by what is kept; x itself when nothing is left
// out. The same elements in `branch`'s forward and backward pass of a step, on any number of ranks.
tensor dropout(const engine& e, const std::string& name, const std::string& branch, tensor x,
               carries factors);
// x in another format.
tensor cast(const engine& e, const std::string& name, const tensor& x, dtype type, carries factors);

// ops_experts.cpp
struct top_choices {
  tensor places, values;  // [rows, k], largest first
};
top_choices top_k(const engine& e, const std::string& name, const tensor& x, std::int64_t k);
// [rows, k, n]: 1 at the places of each row.
tensor one_hot(const engine& e, const tensor& places, std::int64_t n);
// Gradients [tokens, k, width] added over k.
tensor sum_choices(const engine& e, const std::string& name, const tensor& x);

// ops_loss.cpp
tensor embedding(const engine& e, const tensor& ids, const tensor& table);
tensor embedding_gradient(const engine& e, const tensor& ids, const tensor& dy, const shape& table);
// Mean over the tokens of this rank.
tensor cross_entropy(const engine& e, const tensor& logits, const tensor& targets);
// Of the mean over the tokens of all ranks, times the loss scale.
tensor cross_entropy_gradient(const engine& e, const tensor& logits, const tensor& targets);
// The share of this rank's targets that are among the `k` likeliest tokens.
double top_k_share(const engine& e, const tensor& logits, const tensor& targets, std::int64_t k);

}  // namespace minigpt
