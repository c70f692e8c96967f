// Convergence diagnostics of Markov chains: rank-normalised split R̂ and effective sample sizes, as defined by
// Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: An improved R̂ for
// assessing convergence of MCMC" (2021), and computed by R's `posterior` 1.4.
//
// `draws` is chains × draws of one scalar quantity. Each chain counts as two halves; the middle draw of an odd number
// is dropped.
//
// The result is NaN where the draws say nothing:
//  - a draw is NaN;
//  - a draw is infinite (EssMean and EssTail; ranks have no difficulty with it, unless it is the
//    median that R̂ folds at);
//  - all values are the same, or within 2.2e-16 (EssMean and EssTail), or so are their distances
//    from the median (R̂), or the indicators of a tail (EssTail: a twentieth or more of the draws
//    share the largest value);
//  - a half has fewer than 3 draws (ESS) or 2 (R̂).
// Where `posterior` differs: it transposes chains of 2 or 3 draws, does not always look at the dropped draw, and
// gives half the number of draws when squares overflow (NaN here). As there, an ESS from halves of 3 to 5 draws is
// half their number, whatever they are: too few to estimate one.
#pragma once

#include "grbm/core/matrix.h"

namespace grbm {

// The larger of R̂ of the normal scores and R̂ of the normal scores of |x - median|: the first sees chains with
// different locations, the second with different scales. Near 1 after convergence; infinite if chains with different
// values never move.
double SplitRhat(MatrixView<const double> draws);

// Effective sample size of the normal scores: how well the centre of the distribution is explored.
double EssBulk(MatrixView<const double> draws);

// The smaller ESS of the indicators of x <= q, q the 5 % and the 95 % quantiles.
double EssTail(MatrixView<const double> draws);

// The number of independent draws that would estimate the mean as well; at most S log10(S) of S draws.
double EssMean(MatrixView<const double> draws);

struct Diagnostics {
  double rhat = 0;
  double ess_bulk = 0;
  double ess_tail = 0;
  double ess_mean = 0;
  double autocorrelation_time = 0;
};

// All of the above.
Diagnostics Diagnose(MatrixView<const double> draws);

// z with Φ(z) = p, to about 1e-16 relative; -∞ at p = 0, ∞ at p = 1, NaN outside [0, 1].
double NormalQuantile(double p);

}  // namespace grbm
