// Options and JSON; any struct whose fields are declared as in grbm/core/options.h.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "grbm/core/options.h"

namespace grbm {

// JSON from a file that is not to be trusted: at most `max_bytes` long and a few levels deep, no
// key twice. Throws DataError, opened by `where`.
nlohmann::json ParseJson(std::string_view text, std::size_t max_bytes, const std::string& where);
// Throws DataError, opened by `where`, where a text is not valid UTF-8.
std::string DumpJson(const nlohmann::json& value, const std::string& where);

// {name: value} of all fields.
nlohmann::json OptionsToJson(std::span<const Field> fields);
// Assigns the fields that the object names and leaves the others. Throws DataError for an unknown
// name, a wrong type or a value out of range.
void OptionsFromJson(const nlohmann::json& object, std::span<const Field> fields, const std::string& where);

}  // namespace grbm
