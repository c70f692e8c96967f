// Other programs.
#pragma once

#include <string>
#include <vector>

namespace grbm {

struct ProcessResult {
  bool started = false;  // false: no such program
  int exit_code = 0;     // 128 + the signal where one ended it
  std::string output;    // standard output and error together, the last 64 KiB
};

// Runs arguments[0], found through PATH, in the folder and without a shell; waits for its end. Standard input is empty.
// Throws IoError for failures of the system other than that the program is not there or cannot be executed.
ProcessResult RunProcess(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace grbm
