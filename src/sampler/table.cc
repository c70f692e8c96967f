#include "sampler/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "grbm/core/error.h"

namespace grbm {

namespace {

// In the order of Method. A deque: names stay where they are when others are added.
std::deque<SamplerKind>& Table() {
  static std::deque<SamplerKind> table = {
      Gibbs(),
      Langevin(),
      GibbsLangevin(),
      PartialGibbs(),
  };
  return table;
}

}  // namespace

const SamplerKind& FindSampler(Method method) { return Table().at(static_cast<std::size_t>(method)); }

Method AddSampler(SamplerKind kind) {
  if (std::ranges::find(Table(), kind.name, &SamplerKind::name) != Table().end()) {
    throw ConfigError(fmt::format("sampler: method = \"{}\": there is one of that name: choose another", kind.name));
  }
  Table().push_back(std::move(kind));
  return static_cast<Method>(Table().size() - 1);
}

std::vector<std::string_view> SamplerNames() {
  std::vector<std::string_view> names;
  for (const SamplerKind& kind : Table()) names.push_back(kind.name);
  return names;
}

}  // namespace grbm
