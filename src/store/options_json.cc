#include "store/options_json.h"

#include <fmt/core.h>

#include "core/bytes.h"
#include "core/json.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

using nlohmann::json;

Scalar ScalarFromJson(const json& value, std::string_view name, const std::string& where) {
  switch (value.type()) {
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::number_integer:
      return value.get<std::int64_t>();
    case json::value_t::number_unsigned:
      if (std::in_range<std::int64_t>(value.get<std::uint64_t>())) {
        return value.get<std::int64_t>();
      }
      return value.get<double>();
    case json::value_t::number_float:
      return value.get<double>();
    case json::value_t::string:
      return value.get<std::string>();
    default:
      throw DataError(
          fmt::format("{}: {} is {}: expected is text, a number, true or false", where, name, value.type_name()));
  }
}

}  // namespace

std::string DumpJson(const json& value, const std::string& where) {
  try {
    return value.dump();
  } catch (const json::exception&) {
    throw DataError(fmt::format("{}: text that is not valid UTF-8", where));
  }
}

json OptionsToJson(std::span<const Field> fields) {
  json object = json::object();
  for (const Field& field : fields) {
    std::visit([&](const auto& value) { object[std::string(field.name)] = value; }, Value(field));
  }
  return object;
}

void OptionsFromJson(const json& object, std::span<const Field> fields, const std::string& where) {
  if (!object.is_object()) {
    throw DataError(fmt::format("{}: {}: expected is an object", where, object.type_name()));
  }
  try {
    for (const auto& [key, value] : object.items()) {
      // The known names are short and printable, so others can be cut and escaped.
      const std::string quoted = Quoted(key);
      const std::string name = quoted.substr(1, quoted.size() - 2);
      const Field& field = FindField(fields, name, where);
      const Scalar scalar = ScalarFromJson(value, name, where);
      const auto* text = std::get_if<std::string>(&scalar);
      if (text != nullptr && Quoted(*text).substr(1, text->size()) != *text) {
        throw DataError(fmt::format("{}: {} = {}: allowed is {}", where, name, Quoted(*text), AllowedText(field)));
      }
      Assign(field, scalar, where);
    }
  } catch (const ConfigError& error) {
    throw DataError(error.what());  // the mistake is in the file, not in the user's settings
  }
}

}  // namespace grbm
