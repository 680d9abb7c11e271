// The arithmetic of one row of one LSTM step, for the instruction set in use.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace hw {

struct LstmCell {
  int64_t hidden;
  void* gates;         // [4 * hidden]; forward: sums, replaced by the gates
  const void* before;  // c of the step before
  void* cell;          // c
  // Forward only.
  void* output;
  // Backward only: gradients of h (running) and from outside, of c (running, replaced), and the result [4 * hidden].
  const void *d_running, *d_output, *d_cells;  // the last two may be null
  void *d_cell, *d_gates;
};
struct LstmCellFns {
  void (*forward)(const LstmCell& cell);
  void (*backward)(const LstmCell& cell);
};
LstmCellFns find_lstm_cell(DType dtype);  // F32 or F64

}  // namespace hw
