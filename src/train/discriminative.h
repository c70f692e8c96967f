// Beside the likelihood of data with labels: how well the labels are told from the data.
#pragma once

#include <span>
#include <vector>

#include "model/state_sums.h"

namespace grbm {

// The gradient of -weight · log p(y | v), added up over one piece of a batch.                            [math.md (74)]
class DiscriminativeSums {
 public:
  DiscriminativeSums(const Model& model, Index rows)
      : outer_(model, StateSums::Hidden::kProbability, StateSums::Visible::kState, rows) {}

  // visible: rows × visible units, with their labels.
  void Compute(const Model& model, kernels::ConstPanelView visible, double weight, ThreadPool& pool);

  // What is added to the sum Σ h vᵀ of the data; 0 for label units.
  const StateSums& outer() const { return outer_; }
  // The sums of the gradients in U (classes × hidden) and c, one after the other.
  static std::size_t LabelSize(const Model& model) {
    return static_cast<std::size_t>(model.label_units() * (model.hidden() + 1));
  }
  std::span<const double> of_labels() const { return of_labels_; }

 private:
  StateSums outer_;
  std::vector<double> of_labels_;
};

// Adds factor times sums of LabelSize to the gradient in U, c and b.
void AddLabelGradient(const Model& model, std::span<const double> of_labels, double factor, Parameters& gradient);

}  // namespace grbm
