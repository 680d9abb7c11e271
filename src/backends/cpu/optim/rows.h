// Optimiser steps over contiguous rows of f32 or f64, for the instruction set in use.
#pragma once

#include "kernels/kernel.h"

namespace hw {

/// Rewrites n elements of the parameter and of its states, in the order of the op's inputs, without the ones not given.
using StepRowsFn = void (*)(const Attrs& attrs, void* param, const void* grad, void* const* states, int64_t n);
StepRowsFn find_step_rows(const KernelRequest& request, DType compute);

/// LAMB, first round: rewrites both moments and adds to the squared norms of the parameter and of the direction.
using LambMomentsFn = void (*)(const Attrs& attrs, const void* param, const void* grad, void* mean, void* square,
                               int64_t n, double* norms);
LambMomentsFn find_lamb_moments(DType compute);
/// Second round: param -= rate * direction.
using LambApplyFn = void (*)(const Attrs& attrs, void* param, const void* mean, const void* square, int64_t n,
                             double rate);
LambApplyFn find_lamb_apply(DType compute);

}  // namespace hw
