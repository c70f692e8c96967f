#include "hooks.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "grbm/core/error.h"

namespace grbm::python {

namespace {

void TakeStep(const py::function& step, const ModelFile& like, const Model& model, Chains& chains,
              std::uint64_t number) {
  ModelFile file = like;
  file.model = model;
  const py::object made = CallPython(step, py::make_tuple(std::make_shared<ModelFile>(std::move(file)),
                                                          ToArray(chains.visible), ToBytes(chains.hidden), number));
  if (!py::isinstance<py::tuple>(made) || py::len(made) != 2) {
    throw DataError("sampler: step() must return a pair: visible and hidden states");
  }
  const auto pair = py::reinterpret_borrow<py::tuple>(made);
  const auto v = FloatArray::ensure(pair[0]);
  if (!v) throw DataError("sampler: v of step() must be an array of numbers");
  const ConstMatrix rows = RowsOf(v, "v of step()");
  BitMatrix bits = BitsOf(pair[1], "sampler: h of step()");
  if (rows.rows() != chains.count() || rows.cols() != model.visible() || bits.rows() != chains.count() ||
      bits.units() != model.hidden()) {
    throw DataError(fmt::format(
        "sampler: step() returned states of {} × {} and {} × {}: expected are {} × {} visible and {} × {} hidden units",
        rows.rows(), rows.cols(), bits.rows(), bits.units(), chains.count(), model.visible(), chains.count(),
        model.hidden()));
  }
  CopyRows(rows, chains.visible);
  chains.hidden = std::move(bits);
}

}  // namespace

SamplerHooks Hooks(Signals& signals, const PythonStep& step, const ModelFile& like) {
  SamplerHooks hooks = {.before_step = [&signals] { signals.Check(); }};
  if (step) {
    hooks.step = [&step, &like](const Model& model, Chains& chains, std::uint64_t number) {
      const Gil gil;
      try {
        Survive([&] { TakeStep(*step, like, model, chains, number); });
      } catch (const DataError& error) {
        // As Python's own: training would take the library's for chains that diverged.
        RaiseDataError(error.what());
      }
    };
  }
  return hooks;
}

}  // namespace grbm::python
