// Tables of interpolation weights; see the header. The cubic is Keys' with a = -0.75, as in torch and OpenCV; with antialias
// a = -0.5, as in torch and Pillow.
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

/// The triangle or cubic filter at distance x.
template <class F>
F filter(F x, bool cubic) {
  x = std::abs(x);
  if (!cubic) return x < 1 ? 1 - x : F(0);
  return x < 1 ? cubic_near(x, F(-0.5)) : x < 2 ? cubic_far(x, F(-0.5)) : F(0);
}

/// Where the output is coarser than the input the filter is as wide as an output point's share of the input, and its weights are
/// made to sum to one.
template <class F>
Taps make_antialiased(bool cubic, int64_t in, int64_t out, F step) {
  Taps t;
  t.in = in, t.out = out;
  const F stretch = std::max(step, F(1)), support = (cubic ? F(2) : F(1)) * stretch;
  t.count = std::min(in, static_cast<int64_t>(std::ceil(support)) * 2 + 1);
  t.index.clear(), t.weight.clear();
  for (int64_t o = 0; o < out; ++o) {
    const F center = step * (static_cast<F>(o) + F(0.5));
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + F(0.5)), 0);
    const int64_t end = std::min(static_cast<int64_t>(center + support + F(0.5)), in);
    const int64_t used = std::clamp<int64_t>(end - first, 0, t.count);
    F total = 0;
    for (int64_t k = 0; k < used; ++k) total += filter((static_cast<F>(first + k) - center + F(0.5)) / stretch, cubic);
    for (int64_t k = 0; k < t.count; ++k) {
      const F w = k < used ? filter((static_cast<F>(first + k) - center + F(0.5)) / stretch, cubic) : F(0);
      t.index.push_back(std::clamp<int64_t>(first + k, 0, std::max<int64_t>(end - 1, 0)));
      t.weight.push_back(total == 0 ? 0.0 : static_cast<double>(w / total));
    }
  }
  return t;
}

template <class F>
Taps make(std::string_view mode, int64_t in, int64_t out, bool align_corners, double scale) {
  if (mode.ends_with("-antialias"))
    return make_antialiased(mode.starts_with("bicubic"), in, out, step_of<F>(in, out, align_corners, scale));
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
