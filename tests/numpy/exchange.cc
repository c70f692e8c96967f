// `exchange write <folder>` writes arrays, which NumPy then reads; `exchange copy <from> <to>`
// reads an .npy or .npz file of NumPy's and writes it again.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/core/npz.h"

namespace {

void Write(const std::string& folder) {
  const std::vector<float> values = {0.5f, -1.0f, 1e-45f, 3e38f, 5.0f, 6.0f};
  const std::vector<grbm::Tensor> tensors = {
      grbm::MakeTensor("W", {2, 3}, values),
      grbm::MakeTensor("scalar", {}, std::span(values).first(1)),
      grbm::MakeTensor("none", {0, 3}, {}),
      {"metadata", "U8", {5}, "{\"a\"}"},
      {"flags", "BOOL", {2}, std::string_view("\x01\x00", 2)},
  };
  grbm::WriteNpz(folder + "/ours.npz", tensors);
  grbm::WriteNpy(folder + "/ours.npy", tensors[0]);
}

void Copy(const std::string& from, const std::string& to) {
  if (from.ends_with(".npz")) {
    grbm::WriteNpz(to, grbm::ReadNpz(from).tensors);
  } else {
    grbm::WriteNpy(to, grbm::ReadNpy(from).tensors.at(0));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "write") {
      Write(arguments[1]);
    } else if (arguments.size() == 3 && arguments[0] == "copy") {
      Copy(arguments[1], arguments[2]);
    } else {
      return 64;
    }
  } catch (const grbm::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_code();
  }
  return 0;
}
