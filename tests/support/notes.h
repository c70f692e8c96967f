// What a run says.
#pragma once

#include <string>
#include <vector>

#include "grbm/train/run.h"

namespace grbm::testing {

class Notes : public RunObserver {
 public:
  void OnNote(const std::string& text) override { notes.push_back(text); }
  void OnWarning(const std::string& text) override { warnings.push_back(text); }
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

}  // namespace grbm::testing
