// Conditions: real values u that are given, and shift both biases of a model: μ + A u for μ, b + B u for b.
//                                                                                                      [math.md (80)]
#pragma once

#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

// The law given u: a model without conditions. u: as many values as the model has conditions.
Model GivenConditions(const Model& model, std::span<const float> u);

// The model of v - A u with the conditions as further visible units, which no sampler moves: given their values it has the
// law of all rows, each with conditions of its own.                                                      [math.md (81)]
Model WithConditionUnits(const Model& model);

// Rows (v, u) into states (v - A u, u) of that model, and back. rows: rows × (visible + conditions).
void TakeShift(const Model& model, MutableMatrix rows, ThreadPool& pool);
void AddShift(const Model& model, MutableMatrix rows, ThreadPool& pool);

// (v, u) of rows of both.
Matrix WithConditions(ConstMatrix values, ConstMatrix conditions);
// v of rows (v, u).
Matrix WithoutConditions(const Model& model, ConstMatrix rows);

// The gradient in the model's parameters from that in those of WithConditionUnits, of which `shift` is that in A at constant
// weights of the condition units: visible × conditions.                                                  [math.md (82)]
Parameters GradientGivenConditions(const Model& model, const Parameters& of_units, std::span<const double> shift,
                                   ThreadPool& pool);

}  // namespace grbm
