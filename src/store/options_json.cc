#include "store/options_json.h"

#include <fmt/core.h>

#include <set>
#include <vector>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

using nlohmann::json;

// Deeper than any document of ours; the destructor of a JSON value recurses.
constexpr int kMaxDepth = 8;

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

json ParseJson(std::string_view text, std::size_t max_bytes, const std::string& where) {
  if (text.size() > max_bytes) {
    throw DataError(fmt::format("{}: {} bytes of JSON: allowed are {}", where, text.size(), max_bytes));
  }
  // The parser would take it for the end of the input.
  if (text.find('\0') != std::string_view::npos) {
    throw DataError(fmt::format("{}: byte {}: not valid JSON", where, text.find('\0')));
  }
  std::vector<std::set<std::string>> keys(kMaxDepth + 1);
  const auto check = [&](int depth, json::parse_event_t event, const json& parsed) {
    const bool starts = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (starts && depth >= kMaxDepth) {
      throw DataError(fmt::format("{}: more than {} levels of JSON", where, kMaxDepth));
    }
    if (event == json::parse_event_t::object_start) {
      keys[static_cast<std::size_t>(depth) + 1].clear();
    }
    if (event == json::parse_event_t::key &&
        !keys[static_cast<std::size_t>(depth)].insert(parsed.get<std::string>()).second) {
      throw DataError(fmt::format("{}: the key {} is there twice", where, Quoted(parsed.get<std::string>())));
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::parse_error& error) {
    throw DataError(fmt::format("{}: byte {}: not valid JSON", where, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const json::exception&) {  // a number beyond all doubles
    throw DataError(fmt::format("{}: not valid JSON: a number out of range", where));
  }
}

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
