// JSON from files and requests that are not to be trusted; and its text. Both are compiled once, which takes seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace grbm {

// At most `max_bytes` long and a few levels deep, no key twice. Throws DataError, opened by `where`. Json: nlohmann::json,
// or nlohmann::ordered_json, which keeps the order of keys.
template <typename Json = nlohmann::json>
Json ParseJson(std::string_view text, std::size_t max_bytes, const std::string& where);

// On one line, or indented by so many blanks. Bytes that are not UTF-8, which names of files may hold, become U+FFFD.
std::string JsonText(const nlohmann::json& value, int indent = -1);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

bool IsUtf8(const std::string& text);

extern template nlohmann::json ParseJson(std::string_view, std::size_t, const std::string&);
extern template nlohmann::ordered_json ParseJson(std::string_view, std::size_t, const std::string&);

}  // namespace grbm
