// Tables of interpolation weights; see the header. The cubic is Keys' with a = -0.75, as in torch and OpenCV.
#include "kernels/interpolate/taps.h"

#include <algorithm>
#include <cmath>

namespace hw {
namespace {

template <class F>
F step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<F>(in - 1) / static_cast<F>(out - 1) : F(0);
  return scale > 0 ? static_cast<F>(1.0 / scale) : static_cast<F>(in) / static_cast<F>(out);
}

template <class F>
F cubic_near(F x, F a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class F>
F cubic_far(F x, F a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class F>
Taps make(std::string_view mode, int64_t in, int64_t out, bool align_corners, double scale) {
  Taps t;
  t.in = in, t.out = out;
  bool nearest = mode.starts_with("nearest"), cubic = mode == "bicubic";
  t.count = nearest ? 1 : cubic ? 4 : 2;
  t.index.clear(), t.weight.clear();
  F step = step_of<F>(in, out, align_corners && !nearest, scale);
  auto add = [&](int64_t i, F w) {
    t.index.push_back(std::clamp<int64_t>(i, 0, in - 1));
    t.weight.push_back(static_cast<double>(w));
  };
  for (int64_t o = 0; o < out; ++o) {
    if (nearest) {
      F at = mode == "nearest" ? static_cast<F>(o) * step : (static_cast<F>(o) + F(0.5)) * step;
      add(static_cast<int64_t>(std::floor(at)), F(1));
      continue;
    }
    F at = align_corners ? static_cast<F>(o) * step : (static_cast<F>(o) + F(0.5)) * step - F(0.5);
    if (!cubic && at < 0) at = 0;
    int64_t i = static_cast<int64_t>(std::floor(at));
    F f = at - static_cast<F>(i);
    if (!cubic) {
      add(i, F(1) - f);
      add(i + 1, f);
      continue;
    }
    constexpr F a = F(-0.75);
    add(i - 1, cubic_far(f + 1, a));
    add(i, cubic_near(f, a));
    add(i + 1, cubic_near(1 - f, a));
    add(i + 2, cubic_far(2 - f, a));
  }
  return t;
}

}  // namespace

Taps make_taps(std::string_view mode, int64_t in, int64_t out, bool align_corners, double scale, bool single) {
  // A nearest position is always computed in float.
  return single || mode.starts_with("nearest") ? make<float>(mode, in, out, align_corners, scale)
                                               : make<double>(mode, in, out, align_corners, scale);
}

}  // namespace hw
