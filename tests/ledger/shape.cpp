#include "shape.hpp"

#include <sstream>
#include <stdexcept>

namespace course::ledger {

namespace {

using Json = nlohmann::json;

bool is_one(const std::string& type, const Json& value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type.size() > 2 && type.front() == '\'' && type.back() == '\'')
    return value == type.substr(1, type.size() - 2);
  throw std::invalid_argument("a shape has the unknown type " + type);
}

bool is_one_of(const std::string& types, const Json& value) {
  bool found = false;
  std::istringstream words(types);
  for (std::string word; words >> word;) {
    if (word != "|") found = is_one(word, value) || found;
  }
  return found;
}

std::string of_object(const Json& shape, const Json& value, const std::string& where) {
  if (!value.is_object()) return where + " is no object\n";
  std::string text;
  for (const auto& [key, inner] : shape.items()) {
    const bool optional = key.ends_with('?');
    const std::string name = optional ? key.substr(0, key.size() - 1) : key;
    if (value.contains(name)) {
      text += differences(inner, value.at(name), where + "." + name);
    } else if (!optional) {
      text += where + " has no " + name + "\n";
    }
  }
  return text;
}

std::string of_array(const Json& shape, const Json& value, const std::string& where) {
  if (!value.is_array()) return where + " is no array\n";
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i)
    text += differences(shape.at(0), value.at(i), where + "[" + std::to_string(i) + "]");
  return text;
}

}  // namespace

std::string differences(const Json& shape, const Json& value, const std::string& where) {
  if (shape.is_object()) return of_object(shape, value, where);
  if (shape.is_array()) return of_array(shape, value, where);
  if (is_one_of(shape.get<std::string>(), value)) return "";
  return where + " should be " + shape.get<std::string>() + ", and is " + value.dump().substr(0, 80) + "\n";
}

}  // namespace course::ledger
