// What is done with a trained model, in the data's own units: drawing, encoding, filling in. Every number is the program's.
#include "grbm/sampler/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/model/reach.h"
#include "grbm/report/samples.h"
#include "grbm/sampler/inpaint.h"
#include "hooks.h"
#include "rows.h"

namespace grbm::python {

ModelFile Prepared(const ModelFile& file, std::optional<std::int64_t> steps) {
  py::dict settings;
  if (steps) settings["steps"] = *steps;
  ModelFile result = WithSampler(file, settings);
  CheckReach(result.model, result.hottest(), "model");
  result.sampler = ShownSampler(result);
  result.generate = {};
  return result;
}

namespace {

using ModelClass = py::class_<ModelFile, std::shared_ptr<ModelFile>>;

void CheckStep(const ModelFile& file, const PythonStep& step) {
  if (step && !file.classes.empty()) {
    throw ConfigError("step: one written in Python draws values and hidden units alone: take model.given(label=...)");
  }
}

// Chains are numbered by 32 bits; and what is kept of them, `each` numbers for one, must have a size at all.
void CheckCount(Index count, Index each) {
  constexpr Index kMostChains = std::numeric_limits<std::uint32_t>::max();
  if (count < 1 || count > kMostChains) {
    throw ConfigError(fmt::format("count = {}: allowed is a whole number from 1 to {}", count, kMostChains));
  }
  if (each > std::numeric_limits<Index>::max() / 8 / count) throw std::bad_alloc();
}

Matrix Sample(const ModelFile& given, Index count, std::optional<std::int64_t> steps, std::uint64_t seed, int threads,
              const PythonStep& step) {
  CheckCount(count, given.model.visible() + given.model.hidden());
  RequireNoConditions(given);
  CheckStep(given, step);
  const ModelFile file = Prepared(given, steps);
  return OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    Sampler sampler(file.model, file.sampler, pool, OnUnstable::kAllow, Hooks(signals, step, file));
    Chains chains = NoiseChains(file.model, count, seed, pool);
    sampler.Run(chains, {.seed = seed});
    Matrix samples = InOwnUnits(file, FinalVisible(file.model, chains, file.sampler, pool));
    CheckFinite(file, samples, "samples");
    return samples;
  });
}

Matrix Copy(ConstMatrix rows) {
  Matrix copy(rows.rows(), rows.cols());
  CopyRows(rows, copy);
  return copy;
}

// Keeps every n-th state: chain by chain, draw after draw.
class Keep : public Observer {
 public:
  Keep(const ModelFile& file, Index chains, std::int64_t every, ThreadPool& pool)
      : file_(file), chains_(chains), draws_(file.sampler.steps / every), every_(every), pool_(pool) {
    visible.resize(static_cast<std::size_t>(chains * draws_ * file.model.gaussian_units()));
    if (file.sampler.method != Method::kLangevin) {
      hidden.resize(static_cast<std::size_t>(chains * draws_ * file.model.hidden()));
    }
    energy.resize(static_cast<std::size_t>(chains * draws_));
    accepted.resize(energy.size());
    if (!file.classes.empty()) labels.resize(energy.size());
  }

  void OnStep(const ChainState& state) override {
    if (state.step % every_ != 0) return;
    const Index draw = state.step / every_ - 1;
    const std::vector<double> energies = MarginalEnergies(file_.model, state.visible, pool_);
    const Matrix shown = InOwnUnits(file_, Copy(state.visible));
    CheckFinite(file_, shown, "samples");
    for (Index r = 0; r < chains_; ++r) {
      const Index place = r * draws_ + draw;
      std::ranges::copy(shown.row(r), visible.begin() + place * shown.cols());
      for (Index j = 0; j < state.hidden.units() && !hidden.empty(); ++j) {
        hidden[static_cast<std::size_t>(place * state.hidden.units() + j)] = state.hidden.Get(r, j) ? 1 : 0;
      }
      energy[static_cast<std::size_t>(place)] = energies[static_cast<std::size_t>(r)];
      if (!labels.empty()) {
        labels[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(LabelOf(file_.model, state.visible.row(r)));
      }
      accepted[static_cast<std::size_t>(place)] = state.accepted[static_cast<std::size_t>(r)];
    }
  }

  Index draws() const { return draws_; }

  std::vector<float> visible;
  std::vector<std::uint8_t> hidden;
  std::vector<double> energy;
  std::vector<std::uint8_t> accepted;
  std::vector<std::int32_t> labels;

 private:
  const ModelFile& file_;
  Index chains_;
  Index draws_;
  std::int64_t every_;
  ThreadPool& pool_;
};

py::dict SampleChain(const ModelFile& given, Index count, std::optional<std::int64_t> steps, std::int64_t every,
                     std::uint64_t seed, int threads, const PythonStep& step) {
  const Index units = given.model.visible() + given.model.hidden();
  CheckCount(count, units);
  RequireNoConditions(given);
  CheckStep(given, step);
  const ModelFile file = Prepared(given, steps);
  if (every < 1 || every > file.sampler.steps) {
    throw ConfigError(
        fmt::format("every = {}: allowed is a whole number from 1 to the {} steps", every, file.sampler.steps));
  }
  const Index draws = file.sampler.steps / every;
  if (units > std::numeric_limits<Index>::max() / draws) throw std::bad_alloc();
  CheckCount(count, units * draws);
  Keep keep = OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    Keep observer(file, count, every, pool);
    Sampler sampler(file.model, file.sampler, pool, OnUnstable::kAllow, Hooks(signals, step, file));
    Chains chains = NoiseChains(file.model, count, seed, pool);
    sampler.Run(chains, {.seed = seed}, &observer);
    return observer;
  });
  py::dict chain;
  chain["v"] = py::array_t<float>({count, keep.draws(), file.model.gaussian_units()}, keep.visible.data());
  if (!keep.labels.empty()) chain["y"] = py::array_t<std::int32_t>({count, keep.draws()}, keep.labels.data());
  if (!keep.hidden.empty()) {
    chain["h"] = py::array_t<std::uint8_t>({count, keep.draws(), file.model.hidden()}, keep.hidden.data());
  }
  chain["energy"] = py::array_t<double>({count, keep.draws()}, keep.energy.data());
  chain["accepted"] = py::array_t<std::uint8_t>({count, keep.draws()}, keep.accepted.data());
  return chain;
}

py::array_t<float> Probabilities(const ModelFile& file, const py::array& rows, const py::object& conditions,
                                 int threads) {
  py::array_t<float> out({rows.ndim() == 2 ? rows.shape(0) : 0, file.model.hidden()});
  const MutableMatrix result(out.mutable_data(), out.shape(0), out.shape(1), out.shape(1));
  const Codes codes(file);
  ForRows(file, rows, conditions, threads, [&](const GivenRows& given, ThreadPool& pool) {
    CopyRows(codes.Probabilities(given, pool), result.Rows(given.first, given.values.rows()));
  });
  return out;
}

// One byte for a unit, or eight units packed into one as NumPy's packbits does it.
py::array_t<std::uint8_t> Bits(const ModelFile& file, const py::array& rows, const py::object& conditions,
                               std::uint64_t seed, bool packed, int threads) {
  const Index units = file.model.hidden();
  const Index width = packed ? (units + 7) / 8 : units;
  py::array_t<std::uint8_t> out({rows.ndim() == 2 ? rows.shape(0) : 0, width});
  std::fill_n(out.mutable_data(), out.size(), std::uint8_t{0});
  std::uint8_t* const bytes = out.mutable_data();
  const Codes codes(file);
  ForRows(file, rows, conditions, threads, [&](const GivenRows& given, ThreadPool& pool) {
    const BitMatrix h = codes.Draw(given, seed, pool);
    for (Index r = 0; r < h.rows(); ++r) {
      std::uint8_t* const row = bytes + (given.first + r) * width;
      for (Index j = 0; j < units; ++j) {
        if (h.Get(r, j)) row[packed ? j / 8 : j] |= static_cast<std::uint8_t>(packed ? 0x80 >> j % 8 : 1);
      }
    }
  });
  return out;
}

BitMatrix Unpack(const ByteArray& packed, Index units) {
  BitMatrix bits(packed.shape(0), units);
  for (Index r = 0; r < bits.rows(); ++r) {
    for (Index j = 0; j < units; ++j) bits.Set(r, j, (*packed.data(r, j / 8) >> (7 - j % 8) & 1) != 0);
  }
  return bits;
}

Matrix Decode(const ModelFile& file, const py::array& given_codes, const py::object& conditions, bool packed,
              int threads) {
  const Index units = file.model.hidden();
  const auto given = FloatArray::ensure(given_codes);
  if (!given || !HoldsNumbers(given_codes)) throw DataError("codes: could not convert them to an array of numbers");
  const ConstMatrix rows = RowsOf(given, "codes");
  const Index width = packed ? (units + 7) / 8 : units;
  if (rows.cols() != width) {
    throw DataError(fmt::format("codes: X has {} features, but {} are expected as codes of {} hidden units",
                                rows.cols(), width, units));
  }
  if (!AllFinite({rows.data(), static_cast<std::size_t>(given.size())})) {
    throw DataError("codes: Input contains NaN or infinity");
  }
  const BitMatrix bits = packed ? Unpack(BytesOf(given_codes, 255, "codes"), units) : BitMatrix();
  const Matrix u = ConditionsOf(file, conditions, rows.rows());
  return OnPool(threads, [&](ThreadPool& pool, Signals&) {
    const Codes codes(file);
    Matrix v = packed ? codes.Decode(ConstBitView(bits), u, pool) : codes.Decode(rows, u, pool);
    file.standardization.Invert(v);
    return v;
  });
}

Matrix Reconstruct(const ModelFile& file, const py::array& rows, const py::object& conditions, std::uint64_t seed,
                   int threads) {
  Matrix results(rows.ndim() == 2 ? rows.shape(0) : 0, file.model.gaussian_units());
  const Codes codes(file);
  ForRows(file, rows, conditions, threads, [&](const GivenRows& given, ThreadPool& pool) {
    const BitMatrix h = codes.Draw(given, seed, pool);
    CopyRows(codes.Decode(h, given.conditions, pool), results.view().Rows(given.first, h.rows()));
  });
  file.standardization.Invert(results);
  CheckFinite(file, results, "results");
  return results;
}

Matrix Fill(const ModelFile& given, const FloatArray& rows, const py::object& known_units,
            std::optional<std::int64_t> steps, std::uint64_t seed, int threads) {
  RequireNoLabels(given);
  RequireNoConditions(given);
  const ByteArray mask = BytesOf(known_units, 1, "mask");
  ModelFile file = Prepared(given, steps);
  file.sampler = InpaintSampler(file.sampler);
  const ConstMatrix view = RowsOf(rows, "X");
  const bool one = mask.ndim() == 1;
  if (mask.ndim() > 2 || mask.ndim() < 1 || mask.shape(mask.ndim() - 1) != view.cols() ||
      (!one && mask.shape(0) != view.rows())) {
    throw DataError(fmt::format("mask: expected is one element for each of {} columns, or for each of {} × {} values",
                                view.cols(), view.rows(), view.cols()));
  }
  const MatrixView<const std::uint8_t> known(mask.data(), view.rows(), view.cols(), one ? 0 : view.cols());
  return OnPool(threads, [&](ThreadPool& pool, Signals&) {
    Matrix data(view.rows(), view.cols());
    for (Index r = 0; r < data.rows(); ++r) {
      for (Index i = 0; i < data.cols(); ++i) data(r, i) = known(r, i) != 0 ? view(r, i) : 0;
    }
    CheckVisible(file.model, data, "X");
    file.standardization.Apply(data);
    CheckReach(file.model, data, "X");
    Matrix results = Inpaint(file.model, file.sampler, data, known, seed, pool);
    file.standardization.Invert(results);
    PutBack(view, known, results);
    CheckFinite(file, results, "results");
    return results;
  });
}

}  // namespace

void BindSampler(ModelClass& model) {
  model
      .def(
          "sample",
          [](const ModelFile& f, Index count, std::optional<std::int64_t> steps, std::uint64_t seed, int threads,
             const PythonStep& step) { return ToArray(Sample(f, count, steps, seed, threads, step)); },
          py::arg("count") = 64, py::arg("steps") = py::none(), py::arg("seed") = 1, py::arg("threads") = 0,
          py::arg("step") = py::none(),
          R"(Draws from noise, in the data's own units: what `grbm sample` writes. `step` is one of chains in Python: see grbm.Sampler.

>>> grbm.Model.initial(3, 2).sample(5, steps=10).shape
(5, 3)
)")
      .def(
          "sample_chain", &SampleChain, py::arg("count") = 4, py::arg("steps") = py::none(), py::arg("every") = 1,
          py::arg("seed") = 1, py::arg("threads") = 0, py::arg("step") = py::none(),
          R"(The same chains with their states after every so many steps: {name: array of [chain, draw, ...]}. v is in the data's own
units, energy the marginal energy; accepted says whether the last move was made. With labels, y is the number of the class.

>>> chain = grbm.Model.initial(3, 2).sample_chain(4, steps=10, every=2)
>>> {name: values.shape for name, values in chain.items()}
{'v': (4, 5, 3), 'h': (4, 5, 2), 'energy': (4, 5), 'accepted': (4, 5)}
)")
      .def(
          "encode",
          [](const ModelFile& f, const py::object& X, int threads, const py::object& conditions) {
            return Probabilities(f, ArrayOf(X), conditions, threads);
          },
          py::arg("X"), py::arg("threads") = 0, py::arg("conditions") = py::none(),
          R"(p(h = 1 | v) of rows in the data's own units: what `grbm encode --probabilities` writes. conditions: in their own units, a
row of them for each of X.

>>> grbm.Model.initial(3, 2).encode(np.zeros((1, 3)))
array([[0.5, 0.5]], dtype=float32)
)")
      .def(
          "encode_bits",
          [](const ModelFile& f, const py::object& X, std::uint64_t seed, bool packed, int threads,
             const py::object& conditions) { return Bits(f, ArrayOf(X), conditions, seed, packed, threads); },
          py::arg("X"), py::arg("seed") = 1, py::arg("packed") = false, py::arg("threads") = 0,
          py::arg("conditions") = py::none(),
          R"(Drawn bits of rows in the data's own units: what `grbm encode` writes, or eight units packed into a byte.

>>> model = grbm.Model.initial(3, 10)
>>> X = np.zeros((4, 3))
>>> bits, packed = model.encode_bits(X), model.encode_bits(X, packed=True)
>>> bits.shape, packed.shape, bool((np.unpackbits(packed, axis=1)[:, :10] == bits).all())
((4, 10), (4, 2), True)
)")
      .def(
          "decode",
          [](const ModelFile& f, const py::object& codes, bool packed, int threads, const py::object& conditions) {
            return ToArray(Decode(f, ArrayOf(codes), conditions, packed, threads));
          },
          py::arg("codes"), py::arg("packed") = false, py::arg("threads") = 0, py::arg("conditions") = py::none(),
          R"(From codes, probabilities or bits, to the mean of the visible units, in the data's own units.

>>> grbm.Model.initial(3, 2).decode([[0.5, 0.5]]).shape
(1, 3)
)")
      .def(
          "reconstruct",
          [](const ModelFile& f, const py::object& X, std::uint64_t seed, int threads, const py::object& conditions) {
            return ToArray(Reconstruct(f, ArrayOf(X), conditions, seed, threads));
          },
          py::arg("X"), py::arg("seed") = 1, py::arg("threads") = 0, py::arg("conditions") = py::none(),
          R"(Rows through drawn hidden units and back: what `grbm reconstruct` writes.

>>> grbm.Model.initial(3, 2).reconstruct(np.ones((5, 3))).shape
(5, 3)
)")
      .def(
          "inpaint",
          [](const ModelFile& f, const FloatArray& rows, const py::object& mask, std::optional<std::int64_t> steps,
             std::uint64_t seed, int threads) { return ToArray(Fill(f, rows, mask, steps, seed, threads)); },
          py::arg("X"), py::arg("mask"), py::arg("steps") = py::none(), py::arg("seed") = 1, py::arg("threads") = 0,
          R"(Fills in what is not known, given the rest: what `grbm inpaint` writes. mask: true where a value is known, for all rows
or for each; what is not known may be NaN.

>>> X = np.array([[1, np.nan, 3]])
>>> filled = grbm.Model.initial(3, 2).inpaint(X, [True, False, True])
>>> float(filled[0, 0]), float(filled[0, 2]), bool(np.isfinite(filled).all())
(1.0, 3.0, True)
)");
  model.def(
      "picture",
      [](const ModelFile& f, const FloatArray& rows) -> std::optional<py::bytes> {
        const ConstMatrix view = RowsOf(rows, "rows");
        if (!f.image_shape.known()) return std::nullopt;
        if (view.cols() != f.model.gaussian_units())
          throw DataError("rows: expected are as many columns as visible units");
        return py::bytes(DrawPicture(f, view).contents);
      },
      py::arg("rows"), R"(Rows in the data's own units as a PNG file of images; None where rows are not images.

>>> model = grbm.Model(np.zeros((4, 1)), [0], np.zeros(4), np.zeros(4), image_shape=(2, 2))
>>> model.picture(np.eye(4))[1:4]
b'PNG'
)");
}

}  // namespace grbm::python
