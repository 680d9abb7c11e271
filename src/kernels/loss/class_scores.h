// Scores of classes with an angular margin for the target: what the reference and the SIMD rows of `_class_*` share.
#pragma once

#include <cmath>

#include "kernels/lines/lines.h"

namespace hw {

/// The parameters of a row, in the order of the attributes of the ops.
struct ClassScores {
  double margin1, margin2, margin3, scale;
  int64_t ignored, classes, first;
  explicit ClassScores(const double* p)
      : margin1(p[0]),
        margin2(p[1]),
        margin3(p[2]),
        scale(p[3]),
        ignored(static_cast<int64_t>(p[4])),
        classes(static_cast<int64_t>(p[5])),
        first(static_cast<int64_t>(p[6])) {}

  bool angular() const { return margin1 != 1 || margin2 != 0; }
  /// Cosines at which the slope is still finite.
  static double inside(double c) { return std::fmin(std::fmax(c, -1 + 1e-7), 1 - 1e-7); }

  /// scale (cos(margin1 acos(x) + margin2) - margin3) of the target; without margins any x will do.
  double target(double x) const {
    return scale * ((angular() ? std::cos(margin1 * std::acos(inside(x)) + margin2) : x) - margin3);
  }
  /// Its derivative.
  double slope(double x) const {
    if (!angular()) return scale;
    const double angle = std::acos(inside(x));
    return scale * margin1 * std::sin(margin1 * angle + margin2) / std::sin(angle);
  }
  /// The place of the row's target among the classes that are here; -1: it is elsewhere, ignored, or wrong (reported).
  int64_t place(const Line& line) const {
    const int64_t t = *static_cast<const int64_t*>(line.in[1]);
    if (t == ignored) return -1;
    const int64_t all = classes < 0 ? line.n : classes;
    if (t < 0 || t >= all)
      line.status->report("target %ld is out of range for %ld classes", static_cast<long>(t), static_cast<long>(all));
    else if (t >= first && t < first + line.n)
      return t - first;
    return -1;
  }
};

/// The line kernel of a request for one of the ops; `d` is what the row function computes x in, `wide` the rest.
std::unique_ptr<Kernel> make_class_kernel(const KernelRequest& request, LineFn fn, DType d, DType wide, bool threads,
                                          std::string& why_not);

}  // namespace hw
