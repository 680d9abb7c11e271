// Cost rules that many ops share: how many operations a call computes. `.flops(cost::...)` in an op's file.
#pragma once

#include "op/op_def.h"

namespace hw::cost {

/// Moves bytes and computes next to nothing: its time is that of the memory it touches.
double bandwidth_bound(const InferCtx& c);

/// `n` operations for each element of input 0, of output 0.
template <int n>
double per_input(const InferCtx& c) {
  return static_cast<double>(n) * static_cast<double>(c.in[0].numel());
}
double elements_of_output(const InferCtx& c);
template <int n>
double per_output(const InferCtx& c) {
  return static_cast<double>(n) * elements_of_output(c);
}

// Loops of one element after the other, in which an operation waits for the one before or for where it looks.
double window(const InferCtx& c);           // each output reads a window of `kernel_size`
double window_gradient(const InferCtx& c);  // each gradient goes to one
double sorting(const InferCtx& c);          // log2 of the axis `dim` comparisons an element
double sorting_all(const InferCtx& c);      // of all elements of input 0
double searching(const InferCtx& c);        // each element of input 1 in the sorted input 0
double selecting(const InferCtx& c);        // each element of input 0 against what was kept so far
double scanning(const InferCtx& c);         // a running value along an axis
double resampling(const InferCtx& c);       // the taps of `mode` for each element of output 0
double resampling_gradient(const InferCtx& c);
double drawing(const InferCtx& c);  // a random number for each element of output 0
double special(const InferCtx& c);  // a function by series or by branches for each element of output 0

/// What one operation of a rule takes, in vector operations: 1, or what loops of one element after the other take.
double operation_price(FlopsRule rule);
/// Whether an op is declared as bound by memory: by its rule, or as elementwise by its split rule and without a rule.
bool is_bandwidth_bound(const OpDef& op);

}  // namespace hw::cost
