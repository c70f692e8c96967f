#include "core/json.h"

#include <fmt/core.h>

#include <set>
#include <vector>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

// Deeper than any document of ours; what writes a JSON value recurses.
static constexpr int kMaxDepth = 8;

template <typename Json>
Json ParseJson(std::string_view text, std::size_t max_bytes, const std::string& where) {
  if (text.size() > max_bytes) {
    throw DataError(fmt::format("{}: {} bytes of JSON: allowed are {}", where, text.size(), max_bytes));
  }
  // The parser would take it for the end of the input.
  if (text.find('\0') != std::string_view::npos) {
    throw DataError(fmt::format("{}: byte {}: not valid JSON", where, text.find('\0')));
  }
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> keys(kMaxDepth + 1);
  const auto check = [&](int depth, Event event, const Json& parsed) {
    const bool starts = event == Event::object_start || event == Event::array_start;
    if (starts && depth >= kMaxDepth) {
      throw DataError(fmt::format("{}: more than {} levels of JSON", where, kMaxDepth));
    }
    if (event == Event::object_start) {
      keys[static_cast<std::size_t>(depth) + 1].clear();
    }
    if (event == Event::key &&
        !keys[static_cast<std::size_t>(depth)].insert(parsed.template get<std::string>()).second) {
      throw DataError(fmt::format("{}: the key {} is there twice", where, Quoted(parsed.template get<std::string>())));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const typename Json::parse_error& error) {
    throw DataError(fmt::format("{}: byte {}: not valid JSON", where, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const typename Json::exception&) {  // a number beyond all doubles
    throw DataError(fmt::format("{}: not valid JSON: a number out of range", where));
  }
}

template <typename Json>
static std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}
std::string JsonText(const nlohmann::json& value, int indent) { return Dump(value, indent); }
std::string JsonText(const nlohmann::ordered_json& value, int indent) { return Dump(value, indent); }

bool IsUtf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

template nlohmann::json ParseJson(std::string_view, std::size_t, const std::string&);
template nlohmann::ordered_json ParseJson(std::string_view, std::size_t, const std::string&);

}  // namespace grbm
