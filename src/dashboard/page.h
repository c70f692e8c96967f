// The page, which the build embeds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace grbm {

// Made from web/ by the build; empty where there was no npm.
extern const std::string_view kPageText;

// The page with its data in it. Throws ConfigError where the page was not built.
std::string PageHtml(const nlohmann::ordered_json& data);

}  // namespace grbm
