#pragma once
// The part of JSON Schema that docs/report.schema.json uses.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace numdiff::test {

class schema {
 public:
  explicit schema(nlohmann::json root) : root_(std::move(root)) {}
  // One line for each violation: "/findings/0/rule: missing".
  [[nodiscard]] std::vector<std::string> violations(const nlohmann::json& value) const {
    std::vector<std::string> found;
    check(root_, value, "", found);
    return found;
  }

 private:
  using json = nlohmann::json;

  static bool is(const std::string& type, const json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return false;
  }

  static bool has_type(const json& types, const json& value) {
    if (types.is_string()) return is(types.get<std::string>(), value);
    for (const json& type : types)
      if (is(type.get<std::string>(), value)) return true;
    return false;
  }

  bool valid(const json& rule, const json& value) const {
    std::vector<std::string> found;
    check(rule, value, "", found);
    return found.empty();
  }

  void check(const json& rule, const json& value, const std::string& at,
             std::vector<std::string>& found) const {
    const auto fail = [&](const std::string& why) { found.push_back((at.empty() ? "/" : at) + ": " + why); };
    for (const auto& [keyword, body] : rule.items()) {
      if (keyword == "$ref") {
        check(root_.at(json::json_pointer(body.get<std::string>().substr(1))), value, at, found);
      } else if (keyword == "type") {
        if (!has_type(body, value)) fail("is not of type " + body.dump());
      } else if (keyword == "const") {
        if (value != body) fail("is not " + body.dump());
      } else if (keyword == "enum") {
        if (std::find(body.begin(), body.end(), value) == body.end()) fail("is not in " + body.dump());
      } else if (keyword == "anyOf") {
        bool any = false;
        for (const json& option : body) any = any || valid(option, value);
        if (!any) fail("fits no alternative: " + value.dump());
      } else if (keyword == "minimum") {
        if (value.is_number() && value.get<double>() < body.get<double>()) fail("is below " + body.dump());
      } else if (keyword == "required") {
        for (const json& name : body)
          if (value.is_object() && !value.contains(name.get<std::string>()))
            fail("misses " + name.get<std::string>());
      } else if (keyword == "properties") {
        for (const auto& [name, inner] : body.items())
          if (value.is_object() && value.contains(name)) check(inner, value[name], at + "/" + name, found);
      } else if (keyword == "additionalProperties") {
        for (const auto& [name, inner] : value.items())
          if (!rule.contains("properties") || !rule["properties"].contains(name))
            check(body, inner, at + "/" + name, found);
      } else if (keyword == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
          check(body, value[i], at + "/" + std::to_string(i), found);
      } else if (keyword != "$schema" && keyword != "title" && keyword != "description" &&
                 keyword != "$defs") {
        fail("the schema uses " + keyword + ", which this check does not know");
      }
    }
  }

  json root_;
};

}  // namespace numdiff::test
