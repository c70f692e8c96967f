// What the machine could do: the bounds that `grbm bench` compares with.
#pragma once

#include "grbm/core/parallel.h"

namespace grbm::app {

struct MachinePeak {
  double clock_ghz = 0;        // from a chain of dependent additions, one cycle each
  double flops_per_cycle = 0;  // of one core, as measured
  double gflops = 0;           // of all threads together: multiply-adds in registers, two operations each
};

// The best of several trials, all threads at once.
MachinePeak MeasurePeak(ThreadPool& pool);
// GFLOP/s of the dense product of the BLAS library, each thread computing rows of it: the best of several shapes.
double MeasureSgemm(ThreadPool& pool);
std::string BlasName();

}  // namespace grbm::app
