// Standard output carries results: they are written, or the command fails. Standard error carries what is said beside them.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace grbm::app {

// Streams that were closed by whoever started the program are opened so that using them fails: otherwise the next file
// that is opened would take their place, and what is printed would end in it.
void OpenStandardStreams();

// Throws IoError where it cannot be written.
void PrintText(std::string_view text);
template <typename... Arguments>
void Print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  PrintText(fmt::format(format, std::forward<Arguments>(arguments)...));
}
// What was printed is with the system, or IoError is thrown.
void FlushOutput();
// The same at the end of the program: nothing can be printed after it.
void CloseOutput();

// To standard error. That it cannot be written is no reason to stop.
void TellText(std::string_view text);
template <typename... Arguments>
void Tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  TellText(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace grbm::app
