#pragma once
// The context of each thread: a stack of nodes, each of which holds the whole context at its place.
#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/json.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct context_values {
  std::int64_t step = -1;
  std::int32_t micro_batch = -1;
  numdiff::phase phase = phase::none;
  double factor = 1;  // product of the factors
  std::string scope;
  std::vector<std::pair<std::string, std::string>> tags, factors;  // key, JSON value

  void set(std::vector<std::pair<std::string, std::string>>& list, std::string_view key, std::string value) {
    for (auto& entry : list) {
      if (entry.first == key) {
        entry.second = std::move(value);
        return;
      }
    }
    list.emplace_back(std::string(key), std::move(value));
  }

  void apply(const numdiff_context_v1& c) {
    const std::string_view name = c.name == nullptr ? "" : c.name;
    std::string value;
    switch (c.kind) {
      case numdiff_context_step: step = c.integer; break;
      case numdiff_context_micro_batch: micro_batch = static_cast<std::int32_t>(c.integer); break;
      case numdiff_context_phase: phase = static_cast<numdiff::phase>(c.integer); break;
      case numdiff_context_scope:
        if (!scope.empty() && !name.empty()) scope += '.';
        scope += name;
        break;
      case numdiff_context_tag:
        if (c.text != nullptr) {
          append_quoted(value, c.text);
        } else {
          append_number(value, c.integer);
        }
        set(tags, name, std::move(value));
        break;
      case numdiff_context_factor:
        append_number(value, c.number);
        factor *= c.number;
        set(factors, name, std::move(value));
        break;
      default: break;
    }
  }

  // {"key":value,...}, or nothing.
  static std::string object(const std::vector<std::pair<std::string, std::string>>& list) {
    if (list.empty()) return {};
    std::string out = "{";
    for (const auto& [key, value] : list) {
      append_key(out, key);
      out += value;
    }
    return out + '}';
  }
};

struct context_node {
  std::atomic<std::uint32_t> users{1};
  context_node* below = nullptr;  // what the thread returns to; this node is one of its users
  context_values values;
};

inline context_node*& current_node() noexcept {
  static thread_local context_node* current = nullptr;
  return current;
}

inline const context_values& current_values() noexcept {
  static const context_values none;
  const context_node* node = current_node();
  return node == nullptr ? none : node->values;
}

inline void release(context_node* node) noexcept {
  while (node != nullptr && node->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    context_node* below = node->below;
    delete node;
    node = below;
  }
}

// Opens a node with these values; null when there is no memory.
inline context_node* push_node(const context_values& values, const numdiff_context_v1* change) noexcept {
  try {
    auto* node = new context_node;
    try {
      node->values = values;
      if (change != nullptr) node->values.apply(*change);
    } catch (...) {
      delete node;
      return nullptr;
    }
    node->below = current_node();
    current_node() = node;
    return node;
  } catch (...) {
    return nullptr;
  }
}

// Ends `node` and what this thread opened inside it; nothing when the thread is not inside it.
inline void pop_node(const context_node* node) noexcept {
  const context_node* seek = current_node();
  while (seek != nullptr && seek != node) seek = seek->below;
  if (seek == nullptr) return;
  context_node*& current = current_node();
  for (bool found = false; !found;) {
    context_node* top = current;
    found = top == node;
    current = top->below;
    // `below` keeps its own user: the thread's stack still stands on it.
    if (current != nullptr) current->users.fetch_add(1, std::memory_order_relaxed);
    release(top);
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
