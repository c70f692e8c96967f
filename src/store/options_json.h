// Options and JSON; any struct whose fields are declared as in grbm/core/options.h.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "grbm/core/options.h"

namespace grbm {

// Throws DataError, opened by `where`, where a text is not valid UTF-8.
std::string DumpJson(const nlohmann::json& value, const std::string& where);

// {name: value} of all fields.
nlohmann::json OptionsToJson(std::span<const Field> fields);
// Assigns the fields that the object names and leaves the others. Throws DataError for an unknown
// name, a wrong type or a value out of range.
void OptionsFromJson(const nlohmann::json& object, std::span<const Field> fields, const std::string& where);

}  // namespace grbm
