#include "train/discriminative.h"

#include <algorithm>
#include <cmath>

#include "grbm/model/labels.h"

namespace grbm {

using kernels::kPanel;
using kernels::Panels;
using kernels::Rows;

namespace {

// What a piece's hidden units make of each class.
struct ByClass {
  std::vector<Panels> probabilities;  // p(h | v, y = k): rows × hidden
  BasicMatrix<double> logs;           // log p(y = k | v): rows × classes
};

// v: rows × visible units, without labels.
ByClass Classes(const Model& model, const Panels& v, ThreadPool& pool) {
  const Index classes = model.label_units();
  Panels x(v.rows(), model.hidden());
  kernels::HiddenResult of_values;
  of_values.logits = x;
  UpdateHidden(model.packed(pool), v, {0, v.rows()}, of_values, pool);
  ByClass result{{}, BasicMatrix<double>(v.rows(), classes)};
  std::vector<HiddenSums> sums(ToSize(classes));
  std::vector<kernels::HiddenResult> wanted(ToSize(classes));
  for (Index k = 0; k < classes; ++k) {
    result.probabilities.emplace_back(v.rows(), model.hidden());
    wanted[ToSize(k)].probabilities = result.probabilities.back();
    sums[ToSize(k)].Prepare(v.rows(), model.hidden(), wanted[ToSize(k)]);
  }
  Panels logits(v.rows(), model.hidden());
  ForTiles(model.hidden(), v.rows(), pool, [&](Index group, Rows rows) {
    for (Index k = 0; k < classes; ++k) {
      const Index unit = model.gaussian_units() + k;
      const float inverse_variance = model.inverse_variance()[ToSize(unit)];
      const std::span<const float> weights = model.W().row(unit);
      for (Index p = 0; p < kernels::GroupPanels(model.hidden(), group); ++p) {
        const Index panel = group * kernels::kGroupPanels + p;
        float shift[kPanel] = {};
        for (Index j = panel * kPanel; j < std::min(model.hidden(), (panel + 1) * kPanel); ++j) {
          shift[j % kPanel] = weights[ToSize(j)] * inverse_variance;
        }
        for (Index r = rows.first; r < rows.first + rows.count; ++r) {
          const float* const from = x.view().line(panel, r);
          float* const to = logits.view().line(panel, r);
          for (Index c = 0; c < kPanel; ++c) to[c] = from[c] + shift[c];
        }
      }
      kernels::FromLogits(logits, 1, group, rows, wanted[ToSize(k)]);
    }
  });
  for (Index k = 0; k < classes; ++k) {
    sums[ToSize(k)].Finish();
    const std::size_t unit = ToSize(model.gaussian_units() + k);
    const double bias = double{model.mu()[unit]} * double{model.inverse_variance()[unit]};
    for (Index r = 0; r < v.rows(); ++r) result.logs(r, k) = bias + sums[ToSize(k)].softplus[ToSize(r)];
  }
  for (Index r = 0; r < v.rows(); ++r) NormalizeLogs(result.logs.row(r));
  return result;
}

}  // namespace

// With g_kj = p(h_j = 1 | v, y = k) and a_k = p(k | v) - [k = y], the gradient of -log p(y | v) is a_k in c_k,
// a_k g_kj in U_kj and, with d_j = Σ_k a_k g_kj, d_j in b_j and v_i d_j/σ_i² in W_ij: that of the data's energy, where
// -d stands for h.
void DiscriminativeSums::Compute(const Model& model, kernels::ConstPanelView visible, double weight, ThreadPool& pool) {
  const Index rows = visible.rows();
  const Index classes = model.label_units();
  Panels v(rows, model.visible());
  BasicMatrix<double> share(rows, classes);  // weight · a
  for (Index p = 0; p < visible.panels(); ++p) {
    std::copy_n(visible.line(p, 0), rows * kPanel, v.view().line(p, 0));
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < classes; ++k) {
      float& unit = v.view()(r, model.gaussian_units() + k);
      share(r, k) = -double{unit};
      unit = 0;
    }
  }
  const ByClass by_class = Classes(model, v, pool);
  of_labels_.assign(LabelSize(model), 0);
  const std::span<double> of_bias = std::span(of_labels_).last(ToSize(classes));
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < classes; ++k) {
      share(r, k) = weight * (share(r, k) + std::exp(by_class.logs(r, k)));
      of_bias[ToSize(k)] += share(r, k);
    }
  }
  Panels minus(rows, model.hidden());  // -d
  pool.ParallelFor(minus.view().panels(), [&](Index panel) {
    const Index width = std::min(kPanel, model.hidden() - panel * kPanel);
    for (Index r = 0; r < rows; ++r) {
      double sum[kPanel] = {};
      for (Index k = 0; k < classes; ++k) {
        const float* const g = by_class.probabilities[ToSize(k)].view().line(panel, r);
        double* const of_weights = of_labels_.data() + k * model.hidden() + panel * kPanel;
        for (Index c = 0; c < width; ++c) {
          const double part = share(r, k) * double{g[c]};
          of_weights[c] += part;
          sum[c] += part;
        }
      }
      float* const line = minus.view().line(panel, r);
      for (Index c = 0; c < width; ++c) line[c] = static_cast<float>(-sum[c]);
    }
  });
  outer_.Reset(model);
  outer_.Add(v, minus, pool);
  outer_.Close(false, pool);
}

void AddLabelGradient(const Model& model, std::span<const double> of_labels, double factor, Parameters& gradient) {
  const std::size_t hidden = ToSize(model.hidden());
  for (Index k = 0; k < model.label_units(); ++k) {
    const std::size_t unit = ToSize(model.gaussian_units() + k);
    const double scale = factor / std::exp(double{model.log_var()[unit]});
    const std::span<const double> of_weights = of_labels.subspan(ToSize(k) * hidden, hidden);
    const std::span<float> row = gradient.W.row(static_cast<Index>(unit));
    for (std::size_t j = 0; j < hidden; ++j) {
      row[j] += static_cast<float>(scale * of_weights[j]);
      gradient.b[j] += static_cast<float>(factor * of_weights[j]);
    }
    const std::size_t bias = ToSize(model.label_units()) * hidden + ToSize(k);
    gradient.mu[unit] += static_cast<float>(scale * of_labels[bias]);
  }
}

}  // namespace grbm
