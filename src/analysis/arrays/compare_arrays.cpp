// Names against names: what is in both files is compared, what is in one is a difference.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "analysis/arrays/array_comparison.hpp"
#include "analysis/arrays/pair_types.hpp"
#include "analysis/arrays/pair_values.hpp"
#include "model/path.hpp"

namespace numdiff::analysis {

namespace {

using model::array_file;
using model::array_info;
using model::named_object;
using model::object_kind;

std::string kind_text(const named_object& o) {
  switch (o.kind) {
    case object_kind::group: return "group";
    case object_kind::array: return "array";
    case object_kind::type: return "type";
    case object_kind::soft_link: return "link to " + o.target;
    case object_kind::external_link: return "link to " + o.target + " in another file";
    case object_kind::other_link:
    case object_kind::cycle: return o.target;
  }
  return "";
}

std::string shape_text(const array_info& info) {
  if (info.null) return "no value";
  if (info.shape.empty()) return "scalar";
  std::string text;
  for (const std::uint64_t extent : info.shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

// Whether a name is selected: it matches a pattern, or lies inside something that does.
bool selected(const std::vector<std::string>& patterns, const std::string& name) {
  if (patterns.empty()) return true;
  return std::ranges::any_of(patterns, [&](const std::string& given) {
    const std::string pattern = given.starts_with('/') || given.starts_with('*') ? given : "/" + given;
    for (std::size_t end = name.size(); end != 0 && end != std::string::npos; end = name.rfind('/', end - 1))
      if (model::matches(pattern, std::string_view(name).substr(0, end))) return true;
    return false;
  });
}

class comparer {
 public:
  comparer(array_file& reference, array_file& test, const array_options& how)
      : reference_(reference), test_(test), how_(how) {
    result.reference = {reference.path, reference.format, 0, 0};
    result.test = {test.path, test.format, 0, 0};
    result.accepts = how.accepts;
  }

  void run() {
    std::vector<named_object> a = chosen(reference_), b = chosen(test_);
    name_the_nameless(a, b);
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() || right != b.end()) {
      if (right == b.end() || (left != a.end() && left->name < right->name)) {
        alone(reference_, result.reference, *left++, structure_kind::only_reference);
      } else if (left == a.end() || right->name < left->name) {
        alone(test_, result.test, *right++, structure_kind::only_test);
      } else {
        both(*left++, *right++);
      }
    }
    conclude();
  }

  array_comparison result;

 private:
  std::vector<named_object> chosen(const array_file& file) const {
    std::vector<named_object> out;
    const bool nameless = file.format == "npy";
    for (const named_object& o : file.objects)
      if (nameless || selected(how_.names, o.name)) out.push_back(o);
    return out;
  }

  // A .npy file has one array and no name for it: it stands against the only array of the other file.
  void name_the_nameless(std::vector<named_object>& a, std::vector<named_object>& b) {
    const bool left = reference_.format == "npy", right = test_.format == "npy";
    if (left == right) return;
    std::vector<named_object>& other = left ? b : a;
    std::vector<named_object>& mine = left ? a : b;
    const auto is_array = [](const named_object& o) { return o.kind == object_kind::array; };
    const auto arrays = std::ranges::count_if(other, is_array);
    if (arrays != 1)
      throw std::runtime_error((left ? test_ : reference_).path + ": has " + std::to_string(arrays) +
                               " arrays, " + (left ? reference_ : test_).path +
                               " one without a name: select one with --scope");
    std::erase_if(other, [](const named_object& o) { return o.kind == object_kind::group; });
    mine.front().name = std::ranges::find_if(other, is_array)->name;
  }

  void differs(const std::string& name, structure_kind kind, const std::string& a, const std::string& b) {
    result.structure.push_back({name, kind, a, b, true});
  }

  static bool counts(const named_object& o) { return o.kind == object_kind::array; }

  void alone(const array_file& file, arrays_side& side, const named_object& o, structure_kind kind) {
    // Formats without groups have nothing to put beside one.
    const array_file& other = &file == &reference_ ? test_ : reference_;
    if (o.kind == object_kind::group && !other.has_groups) return without_attributes(file, o);
    const bool first = kind == structure_kind::only_reference;
    differs(o.name, kind, first ? kind_text(o) : "", first ? "" : kind_text(o));
    if (!counts(o)) return;
    ++side.arrays;
    ++result.unmatched;
  }

  // The other file's format has no attributes.
  void without_attributes(const array_file& file, const named_object& o) {
    array_file& owner = &file == &reference_ ? reference_ : test_;
    const array_file& other = &file == &reference_ ? test_ : reference_;
    for (const std::string& name : owner.attributes(o.name)) {
      ++(&file == &reference_ ? result.reference : result.test).attributes;
      skip(o.name + "@" + name, "attributes have no place in ." + other.format + " files");
    }
  }

  void skip(const std::string& name, const std::string& reason) {
    result.skipped.push_back({name, reason});
    ++result.left_out;
  }

  void both(const named_object& a, const named_object& b) {
    if (counts(a)) ++result.reference.arrays;
    if (counts(b)) ++result.test.arrays;
    if (a.kind != b.kind) {
      differs(a.name, structure_kind::kind, kind_text(a), kind_text(b));
      if (counts(a) || counts(b)) ++result.structural;
      return;
    }
    switch (a.kind) {
      case object_kind::group: return attributes(a.name, b.name);
      case object_kind::array:
        arrays(
            a.name, reference_.describe(reference_name(a)), test_.describe(test_name(b)), false,
            [&] { return reference_.open(reference_name(a)); }, [&] { return test_.open(test_name(b)); });
        return attributes(a.name, b.name);
      case object_kind::type: {
        const std::string left = reference_.describe(a.name).type, right = test_.describe(b.name).type;
        if (left != right) differs(a.name, structure_kind::type, left, right);
        return attributes(a.name, b.name);
      }
      case object_kind::soft_link:
      case object_kind::external_link:
        if (a.target != b.target) return differs(a.name, structure_kind::link, kind_text(a), kind_text(b));
        if (a.kind == object_kind::external_link)
          skip(a.name, "links to other files are not followed: " + a.target);
        return;
      case object_kind::other_link: return skip(a.name, a.target);
      case object_kind::cycle: return;
    }
  }

  // The name in its file.
  [[nodiscard]] std::string reference_name(const named_object& o) const {
    return reference_.format == "npy" ? reference_.objects.front().name : o.name;
  }
  [[nodiscard]] std::string test_name(const named_object& o) const {
    return test_.format == "npy" ? test_.objects.front().name : o.name;
  }

  void attributes(const std::string& a, const std::string& b) {
    if (reference_.has_groups && !test_.has_groups)
      return without_attributes(reference_, {a, object_kind::array, ""});
    if (test_.has_groups && !reference_.has_groups)
      return without_attributes(test_, {b, object_kind::array, ""});
    const std::vector<std::string> left = reference_.attributes(a), right = test_.attributes(b);
    result.reference.attributes += left.size();
    result.test.attributes += right.size();
    std::vector<std::string> all;
    std::ranges::set_union(left, right, std::back_inserter(all));
    for (const std::string& name : all) {
      const std::string shown = a + "@" + name;
      const bool in_left = std::ranges::binary_search(left, name),
                 in_right = std::ranges::binary_search(right, name);
      if (in_left && in_right) {
        arrays(
            shown, reference_.describe_attribute(a, name), test_.describe_attribute(b, name), true,
            [&] { return reference_.open_attribute(a, name); },
            [&] { return test_.open_attribute(b, name); });
        continue;
      }
      differs(shown, in_left ? structure_kind::only_reference : structure_kind::only_test,
              in_left ? "attribute" : "", in_left ? "" : "attribute");
      ++result.unmatched;
    }
  }

  void arrays(const std::string& name, const array_info& a, const array_info& b, bool attribute,
              const stream_maker& open_a, const stream_maker& open_b) {
    // Nothing is known of it, not even its type.
    for (const array_info* info : {&a, &b})
      if (!info->unread.empty() && info->parts.empty()) return skip(name, info->unread);
    const std::size_t differences_before = result.structure.size();
    if (a.null != b.null || a.shape != b.shape)
      differs(name, structure_kind::shape, shape_text(a), shape_text(b));
    const bool shapes = result.structure.size() == differences_before;
    paired_types types = pair_types(name, a, b, how_.accepts);
    result.structure.insert(result.structure.end(), types.differences.begin(), types.differences.end());
    const bool structural = !shapes || std::ranges::any_of(types.differences, &structure_difference::decides);
    std::string unread = !a.unread.empty() ? a.unread : b.unread;
    std::vector<array_row> rows;
    if (unread.empty() && shapes && !a.null)
      rows = compare_values({a, b, open_a, open_b}, types.pairs, how_.accepts, unread);
    bool differ = false;
    for (array_row& row : rows) differ = take(std::move(row), name, attribute) || differ;
    if (!unread.empty()) types.skipped.assign(1, {name, unread});
    result.skipped.insert(result.skipped.end(), types.skipped.begin(), types.skipped.end());
    if (differ) ++result.with_different_values;
    if (structural) {
      ++result.structural;
    } else if (differ) {
      ++result.differing;
    } else if (!types.skipped.empty()) {
      ++result.left_out;
    } else {
      ++result.equal;
    }
  }

  // Whether the row has differences.
  bool take(array_row row, const std::string& name, bool attribute) {
    row.name = name + row.name;
    row.attribute = attribute;
    result.elements += row.compared;
    result.elements_different += row.different;
    const bool nonfinite =
        row.nan_both + row.nan_reference + row.nan_test + row.inf_both + row.inf_mismatch != 0;
    result.nonfinite = result.nonfinite || nonfinite;
    const bool differ = row.different != 0;
    if (differ)
      result.different.push_back(std::move(row));
    else if (nonfinite || row.accepted != 0 || row.zero_signs != 0)
      result.noted.push_back(std::move(row));
    return differ;
  }

  // How bad a row is: what has no error comes first, then by relative error.
  static double badness(const array_row& row) {
    if (!row.numeric || row.nan_reference + row.nan_test + row.inf_mismatch != 0) return HUGE_VAL;
    return row.relative_l2;
  }

  void conclude() {
    std::ranges::stable_sort(result.different,
                             [](const array_row& x, const array_row& y) { return badness(x) > badness(y); });
    result.nonfinite_fails = how_.fail_on_nonfinite && result.nonfinite;
    const bool structural = std::ranges::any_of(result.structure, &structure_difference::decides);
    if (!result.different.empty() || structural || result.nonfinite_fails) {
      result.verdict = arrays_verdict::differ;
    } else if (!result.skipped.empty() || result.equal == 0) {
      result.verdict = arrays_verdict::incomplete;
    } else {
      result.verdict = arrays_verdict::agree;
    }
  }

  array_file& reference_;
  array_file& test_;
  const array_options& how_;
};

}  // namespace

array_comparison compare_arrays(array_file& reference, array_file& test, const array_options& how) {
  comparer c(reference, test, how);
  c.run();
  return std::move(c.result);
}

}  // namespace numdiff::analysis
