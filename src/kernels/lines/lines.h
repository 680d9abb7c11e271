// Kernels that work on lines: everything along some axes, one line after the other. The driver brings lines of any layout and
// dtype to contiguous memory of the compute dtype, and takes the results back; where lines lie side by side, it hands out blocks.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"

namespace hw {

constexpr int kMostLineOperands = 8;

/// One line. Operands of one element per line have room for one.
struct Line {
  int64_t n;                          // length
  const void* in[kMostLineOperands];  // null for inputs not given
  void* out[kMostLineOperands];
  const double* params;
  LaunchStatus* status;
  void* scratch;  // LineSpec::scratch bytes for each element of the line
};
using LineFn = void (*)(const Line& line);

/// Lines whose elements lie side by side: element k of line c is at [k * step + c], one element per line at [c].
struct LineBlock {
  int64_t n, width;  // length and number of the lines
  const void* in[kMostLineOperands];
  void* out[kMostLineOperands];
  int64_t in_step[kMostLineOperands], out_step[kMostLineOperands];  // in elements
  const double* params;
  LaunchStatus* status;
  void* scratch;  // 64-byte aligned: LineSpec::block_scratch bytes for each element and block_sums for each line
  int64_t pitch;  // room for lines in scratch: a multiple of 16, at least `width`
};
using LineBlockFn = void (*)(const LineBlock& block);

/// How an operand meets the lines: its axes are those of the first input (Whole), without the axes of the line (PerLine: one
/// element each, with keepdim or without), or only those of the line (Shared: the same for all lines; an output that is Shared is
/// the sum over the lines, added up per thread from zero).
enum class LineRole : uint8_t { Whole, PerLine, Shared };
struct LineOperand {
  LineRole role = LineRole::Whole;
  DType compute = DType::None;  // the dtype the function wants
  bool skip = false;            // as if it were not given
};

struct LineSpec {
  LineFn fn = nullptr;
  Dims axes;  // of the first input, in the order in which elements follow each other in the line
  std::vector<LineOperand> in, out;
  std::vector<double> params;
  int64_t scratch = 0;          // bytes of scratch per element of a line
  LineBlockFn block = nullptr;  // for lines side by side whose Whole operands have the compute dtype; may be null
  int64_t block_scratch = 0, block_sums = 0;
  int64_t block_least = 16;  // fewer lines side by side than these are gathered
  int cost = 1;              // work per element, relative to an addition
  bool threads = true;
};

/// `in` and `out` of the spec have one entry per input and output of the request. False with the reason if a line would need too
/// much scratch.
std::unique_ptr<Kernel> make_line_kernel(const KernelRequest& request, LineSpec spec, std::string& why_not);

}  // namespace hw
