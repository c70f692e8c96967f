#include "dashboard/page.h"

#include "core/json.h"
#include "grbm/core/error.h"

namespace grbm {

std::string PageHtml(const nlohmann::ordered_json& data) {
  static constexpr std::string_view kMark = "GRBM_DATA";
  if (kPageText.empty()) {
    throw ConfigError(
        "this program was built without its web page: install Node.js 18 or later with npm, and configure and build "
        "again");
  }
  // Within a script element only "<" could end it.
  std::string text = JsonText(data);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  std::string page(kPageText);
  return page.replace(page.find(kMark), kMark.size(), text);
}

}  // namespace grbm
