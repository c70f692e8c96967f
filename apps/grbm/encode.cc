// grbm encode: the binary codes of data.
#include <algorithm>
#include <memory>

#include "grbm/core/npz.h"
#include "grbm/evaluate/codes.h"
#include "numbers.h"
#include "output.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  DataArguments data;
  Index count = 0;
  bool probabilities = false;
  std::string out;
};

int Encode(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".npy", ".csv"});
  const ModelFile file = OpenModel(a.model, {}, {.labels = true, .conditions = true});
  const DataRows rows = ReadRows(file, a.data, a.count);
  ThreadPool pool(common.threads);
  const Codes codes(file);
  double activity = 0;
  if (a.probabilities) {
    const Matrix p = codes.Probabilities({rows.values, rows.conditions}, pool);
    for (const float x : p.values()) activity += double{x};
    WriteRows(a.out, p);
  } else {
    const BitMatrix h = codes.Draw({rows.values, rows.conditions}, common.seed, pool);
    std::string bytes(static_cast<std::size_t>(h.rows() * h.units()), '\0');
    for (Index r = 0; r < h.rows(); ++r) {
      for (Index j = 0; j < h.units(); ++j) {
        const bool on = h.Get(r, j);
        bytes[static_cast<std::size_t>(r * h.units() + j)] = on ? 1 : 0;
        activity += on ? 1 : 0;
      }
    }
    if (Ending(a.out) == ".npy") {
      WriteNpy(a.out, {"", "U8", {h.rows(), h.units()}, bytes});
    } else {
      Matrix table(h.rows(), h.units());
      std::ranges::copy(bytes, table.values().begin());
      WriteRows(a.out, table);
    }
  }
  const double cells = static_cast<double>(rows.values.rows()) * static_cast<double>(file.model.hidden());
  PrintResults(Beside(common, a.out), {{"codes", a.out},
                                       {"rows", std::int64_t{rows.values.rows()}},
                                       {"hidden", std::int64_t{file.model.hidden()}},
                                       {"mean_activity", activity / cells}});
  return 0;
}

}  // namespace

void AddEncode(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("encode", "Turn data into stochastic binary codes");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("MODEL", a->model, "A model file, or a run's folder").Required();
  a->data.split = "train";
  AddData(command, a->data);
  AddNumber<Index>(command, "-n,--count", a->count, "How many rows, from the first on; 0: all", 0, 100'000'000);
  command.AddFlag("--probabilities", a->probabilities, "Write p(h = 1 | v) as floats, not drawn bits");
  command.AddOption("-o,--out", a->out, "The array: rows × hidden, 0 and 1 (.npy; .csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter("Example: grbm encode run/model.safetensors --data mnist -o codes.npy");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Encode(*a, common); }; });
}

}  // namespace grbm::app
