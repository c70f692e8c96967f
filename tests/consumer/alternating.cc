// A sampler that the library does not have: partial refreshes that are weak and strong in turns. Each keeps the law, and so do
// both. It is one file, and one line in main.
#include "alternating.h"

#include <cmath>

namespace {

class Alternating : public grbm::Transition {
 public:
  Alternating(const grbm::Model& model, double temperature)
      : temperature_(temperature),
        weak_(MakeMove(model, temperature, 0.9f)),
        strong_(MakeMove(model, temperature, 0)) {}

  double hidden_temperature() const override { return temperature_; }
  const grbm::Move& MoveAt(std::int64_t step) override { return step % 2 == 0 ? weak_ : strong_; }
  bool moves_differ() const override { return true; }

 private:
  static grbm::Move MakeMove(const grbm::Model& model, double temperature, float keep) {
    grbm::Move move(model.visible());
    for (std::size_t i = 0; i < move.keep.size(); ++i) {
      move.keep[i] = keep;
      move.noise[i] = std::sqrt((1 - keep * keep) * static_cast<float>(temperature) * model.variance()[i]);
    }
    return move;
  }

  double temperature_;
  grbm::Move weak_;
  grbm::Move strong_;
};

}  // namespace

grbm::SamplerKind AlternatingKind() {
  return {
      .name = "alternating",
      .make = [](const grbm::Model& model, const grbm::SamplerOptions& options) -> std::unique_ptr<grbm::Transition> {
        return std::make_unique<Alternating>(model, options.temperature);
      },
      .law = [](const grbm::SamplerOptions& options) -> grbm::Law {
        return {grbm::Law::Kind::kJoint, options.temperature};
      }};
}
