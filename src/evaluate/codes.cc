#include "grbm/evaluate/codes.h"

#include "grbm/model/conditions.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/model/visible_law.h"

namespace grbm {

Codes::Codes(const ModelFile& file)
    : file_(file),
      law_(file.law()),
      states_(file.model.conditions() > 0 ? WithConditionUnits(file.model) : file.model),
      temperature_(LawOf(file.sampler).hidden_temperature()) {}

Matrix Codes::States(const GivenRows& rows, ThreadPool& pool) const {
  GRBM_CHECK(rows.conditions.cols() == file_.model.conditions());
  Matrix states = WithConditions(rows.values, rows.conditions);
  TakeShift(file_.model, states, pool);
  return states;
}

Matrix Codes::Probabilities(const GivenRows& rows, ThreadPool& pool) const {
  if (file_.model.conditions() > 0) return HiddenProbabilities(states_, States(rows, pool), pool, temperature_);
  return ExpectedHidden(states_, ClassesOf(law_, rows.values, pool), rows.values, pool, temperature_);
}

BitMatrix Codes::Draw(const GivenRows& rows, std::uint64_t seed, ThreadPool& pool) const {
  const DrawPlace place{Stream(seed, Purpose::kHidden), 0, rows.first};
  if (file_.model.conditions() > 0) return SampleHidden(states_, States(rows, pool), place, pool, temperature_);
  if (file_.classes.empty()) return SampleHidden(states_, rows.values, place, pool, temperature_);
  const BasicMatrix<double> logs = ClassesOf(law_, rows.values, pool);
  Matrix states = WithRoomForLabels(states_, rows.values);
  const Stream stream(seed, Purpose::kLabel);
  for (Index r = 0; r < states.rows(); ++r) {
    const double uniform = stream.UniformDouble(0, rows.first + static_cast<std::uint32_t>(r));
    SetLabel(states_, states.row(r), PickLabel(logs.row(r), uniform));
  }
  return SampleHidden(states_, states, place, pool, temperature_);
}

Matrix Codes::Decode(ConstBitView h, ConstMatrix conditions, ThreadPool& pool) const {
  return Values(VisibleMean(states_, h, pool), conditions, pool);
}

Matrix Codes::Decode(ConstMatrix p, ConstMatrix conditions, ThreadPool& pool) const {
  return Values(VisibleMean(states_, p, pool), conditions, pool);
}

Matrix Codes::Values(Matrix mean, ConstMatrix conditions, ThreadPool& pool) const {
  if (file_.model.label_units() > 0) return WithoutLabels(file_.model, mean);
  if (file_.model.conditions() == 0) return mean;
  GRBM_CHECK(conditions.cols() == file_.model.conditions());
  Matrix shifted = WithConditions(WithoutConditions(file_.model, mean), conditions);
  AddShift(file_.model, shifted, pool);
  return WithoutConditions(file_.model, shifted);
}

}  // namespace grbm
