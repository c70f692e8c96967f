// grbm encode: the binary codes of data.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
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
  std::uint32_t first = 0;  // row's random numbers
  std::string out;
};

int Encode(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".npy", ".csv"});
  CheckApart(a.out, {a.model, a.data.source});
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
    if (rows.values.rows() > static_cast<Index>(std::numeric_limits<std::uint32_t>::max() - a.first)) {
      throw ConfigError(fmt::format("--first-row {}: with {} rows, row numbers exceed 2^32: give a smaller one",
                                    a.first, rows.values.rows()));
    }
    const BitMatrix h = codes.Draw({rows.values, rows.conditions, a.first}, common.seed, pool);
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
                                       {"mean_activity", Measure{activity / cells, "of the hidden units"}}});
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
  AddNumber<std::uint32_t>(command, "--first-row", a->first,
                           "The row number that the first row draws its bits by. Row r of another file with the same "
                           "seed draws the same random numbers: go on counting there, or take another --seed",
                           0, std::numeric_limits<std::uint32_t>::max())
      .ShowDefault();
  command.AddFlag("--probabilities", a->probabilities, "Write p(h = 1 | v) as floats, not drawn bits");
  command.AddOption("-o,--out", a->out, "The array: rows × hidden, 0 and 1 (.npy; .csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter("Example: grbm encode run/model.safetensors --data mnist -o codes.npy");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Encode(*a, common); }; });
}

}  // namespace grbm::app
