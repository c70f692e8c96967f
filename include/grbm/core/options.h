// Options that are declared once. A module lists its struct's fields with name, range and one line of help; files,
// the command line, the documentation and error messages all come from that list.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace grbm {

// What a number may be: min to max, the ends included unless open.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
};

// A field that takes one of a few words.
struct Choice {
  std::vector<std::string_view> words;
  std::function<int()> get;
  std::function<void(int)> set;
};

// Makes a Choice of an enumeration whose values count up from 0 in the order of the words.
template <typename Enum>
Choice MakeChoice(Enum& value, std::vector<std::string_view> words) {
  return {std::move(words), [&value] { return static_cast<int>(value); },
          [&value](int index) { value = static_cast<Enum>(index); }};
}

// One field of one options object, which it refers to and which must outlive it.
struct Field {
  std::string_view name;
  std::variant<bool*, std::int64_t*, double*, std::string*, Choice> value;
  std::string_view help;
  Range range = {};
  std::string_view example = {};  // a value worth trying, as after --set; empty: presets have one, or it is plain
};

// A value on its way in or out, as files know it.
using Scalar = std::variant<bool, std::int64_t, double, std::string>;

// The field of that name. An unknown name throws ConfigError with the nearest known one. `where` opens the message: a
// file and line, or the command-line option.
const Field& FindField(std::span<const Field> fields, std::string_view name, std::string_view where);

// field = value; a whole number serves for a fraction. Throws ConfigError on a wrong type or a value out of range.
void Assign(const Field& field, const Scalar& value, std::string_view where);
// The same from text, as typed on a command line.
void AssignText(const Field& field, std::string_view text, std::string_view where);

Scalar Value(const Field& field);
std::string ValueText(const Field& field);
// What the field takes: "true or false", "a whole number from 1 to 10", "one of: a, b".
std::string AllowedText(const Field& field);

// Throws ConfigError for the first field out of its range; for options set in code.
void CheckFields(std::span<const Field> fields, std::string_view where);

// ": did you mean 'x'?" with the nearest of the words, or nothing where none is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace grbm
