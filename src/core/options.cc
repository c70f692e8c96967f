#include "grbm/core/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/number.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// How many insertions, deletions, substitutions and swaps of neighbours lead from a to b.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // the row before the last
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

bool InRange(const Range& range, double value) {
  if (!std::isfinite(value)) return false;
  const bool above = range.min_open ? value > range.min : value >= range.min;
  const bool below = range.max_open ? value < range.max : value <= range.max;
  return above && below;
}

std::string ScalarText(const Scalar& value) {
  return std::visit(
      Overloaded{[](bool v) { return std::string(v ? "true" : "false"); },
                 [](const std::string& v) { return '"' + v + '"'; }, [](auto v) { return fmt::format("{}", v); }},
      value);
}

[[noreturn]] void Refuse(const Field& field, const std::string& value, std::string_view where) {
  throw ConfigError(fmt::format("{}: {} = {}: allowed is {}", where, field.name, value, AllowedText(field)));
}

}  // namespace

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 1;  // of the word's letters a third may be wrong
  for (const std::string_view candidate : known) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format(": did you mean '{}'?", best);
}

const Field& FindField(std::span<const Field> fields, std::string_view name, std::string_view where) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  if (found != fields.end()) return *found;
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  const std::string hint = DidYouMean(name, names);
  throw ConfigError(hint.empty()
                        ? fmt::format("{}: unknown key '{}': known are {}", where, name, fmt::join(names, ", "))
                        : fmt::format("{}: unknown key '{}'{}", where, name, hint));
}

void Assign(const Field& field, const Scalar& value, std::string_view where) {
  const auto refuse = [&] { Refuse(field, ScalarText(value), where); };
  std::visit(Overloaded{[&](bool* target) {
                          if (!std::holds_alternative<bool>(value)) refuse();
                          *target = std::get<bool>(value);
                        },
                        [&](std::int64_t* target) {
                          if (!std::holds_alternative<std::int64_t>(value)) refuse();
                          const std::int64_t number = std::get<std::int64_t>(value);
                          if (!InRange(field.range, static_cast<double>(number))) refuse();
                          *target = number;
                        },
                        [&](double* target) {
                          double number = 0;
                          if (const auto* whole = std::get_if<std::int64_t>(&value)) {
                            number = static_cast<double>(*whole);
                          } else if (const auto* fraction = std::get_if<double>(&value)) {
                            number = *fraction;
                          } else {
                            refuse();
                          }
                          if (!InRange(field.range, number)) refuse();
                          *target = number;
                        },
                        [&](std::string* target) {
                          if (!std::holds_alternative<std::string>(value)) refuse();
                          *target = std::get<std::string>(value);
                        },
                        [&](const Choice& choice) {
                          const auto* word = std::get_if<std::string>(&value);
                          if (word == nullptr) refuse();
                          const auto found = std::ranges::find(choice.words, *word);
                          if (found == choice.words.end()) refuse();
                          choice.set(static_cast<int>(found - choice.words.begin()));
                        }},
             field.value);
}

void AssignText(const Field& field, std::string_view text, std::string_view where) {
  const auto parse = [&]<typename T>(const T*) -> Scalar {
    if (const auto number = NumberIn<T>(text)) return *number;
    Refuse(field, std::string(text), where);
  };
  const Scalar value = std::visit(
      Overloaded{[&](bool*) -> Scalar {
                   if (text != "true" && text != "false") {
                     Refuse(field, std::string(text), where);
                   }
                   return text == "true";
                 },
                 [&](std::int64_t* target) { return parse(target); }, [&](double* target) { return parse(target); },
                 [&](std::string*) -> Scalar { return std::string(text); },
                 [&](const Choice&) -> Scalar { return std::string(text); }},
      field.value);
  Assign(field, value, where);
}

Scalar Value(const Field& field) {
  return std::visit(Overloaded{[](const Choice& choice) -> Scalar {
                                 return std::string(choice.words[static_cast<std::size_t>(choice.get())]);
                               },
                               [](auto* target) -> Scalar { return *target; }},
                    field.value);
}

std::string ValueText(const Field& field) { return ScalarText(Value(field)); }

std::string AllowedText(const Field& field) {
  const auto number = [&](std::string_view kind) {
    const Range& r = field.range;
    const bool low = std::isfinite(r.min);
    const bool high = std::isfinite(r.max);
    if (low && high && !r.min_open && !r.max_open) return fmt::format("{} from {} to {}", kind, r.min, r.max);
    std::string text(kind);
    if (low) text += fmt::format(" {} {}", r.min_open ? "above" : "of at least", r.min);
    if (low && high) text += " and";
    if (high) text += fmt::format(" {} {}", r.max_open ? "below" : "at most", r.max);
    return text;
  };
  return std::visit(Overloaded{[](bool*) -> std::string { return "true or false"; },
                               [&](std::int64_t*) -> std::string { return number("a whole number"); },
                               [&](double*) -> std::string { return number("a number"); },
                               [](std::string*) -> std::string { return "text"; },
                               [](const Choice& choice) -> std::string {
                                 return fmt::format("one of \"{}\"", fmt::join(choice.words, "\", \""));
                               }},
                    field.value);
}

void CheckFields(std::span<const Field> fields, std::string_view where) {
  for (const Field& field : fields) Assign(field, Value(field), where);
}

}  // namespace grbm
