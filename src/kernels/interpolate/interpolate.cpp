// Interpolation over the last axes and its transpose: rows are combined first, then columns. Planes on the thread team.
#include <algorithm>

#include "base/thread_team.h"
#include "kernels/interpolate/taps.h"
#include "kernels/staged.h"

namespace hw {
namespace {

template <class T>
class Interpolate final : public Kernel {
 public:
  Interpolate(Taps t0, Taps t1, Taps t2, int64_t planes, bool grad)
      : taps_{std::move(t0), std::move(t1), std::move(t2)}, planes_(planes), grad_(grad) {
    in_ = taps_[0].in * taps_[1].in * taps_[2].in, out_ = taps_[0].out * taps_[1].out * taps_[2].out;
    slots_ =
        std::max<int64_t>(1, std::min<int64_t>({planes_, num_threads(), planes_ * std::max(in_, out_) / 16384 + 1}));
    for (double w : taps_[2].weight) weight_.push_back(static_cast<T>(w));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_ * row_floats()) * sizeof(T); }
  void run(const KernelArgs& args) const override {
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        T* row = static_cast<T*>(args.scratch) + slot * row_floats();
        for (int64_t p = planes_ * slot / slots_; p < planes_ * (slot + 1) / slots_; ++p) {
          const T* from = static_cast<const T*>(args.inputs[0]) + p * (grad_ ? out_ : in_);
          T* to = static_cast<T*>(args.outputs[0]) + p * (grad_ ? in_ : out_);
          grad_ ? backward(from, to, row) : forward(from, to, row);
        }
      }
    });
  }

 private:
  int64_t row_floats() const { return (taps_[2].in + 15) / 16 * 16; }

  /// body(output row, offset of an input row, weight) for each pair.
  template <class Begin, class Pair, class End>
  void each_row(Begin&& begin, Pair&& pair, End&& end) const {
    const Taps &a = taps_[0], &b = taps_[1];
    for (int64_t o0 = 0; o0 < a.out; ++o0)
      for (int64_t o1 = 0; o1 < b.out; ++o1) {
        int64_t row = (o0 * b.out + o1) * taps_[2].out;
        begin(row);
        for (int64_t i = 0; i < a.count; ++i)
          for (int64_t j = 0; j < b.count; ++j) {
            double w = a.weight[o0 * a.count + i] * b.weight[o1 * b.count + j];
            if (w != 0)
              pair((a.index[o0 * a.count + i] * b.in + b.index[o1 * b.count + j]) * taps_[2].in, static_cast<T>(w));
          }
        end(row);
      }
  }

  void forward(const T* x, T* y, T* row) const {
    const Taps& c = taps_[2];
    each_row([&](int64_t) { std::fill_n(row, c.in, T(0)); },
             [&](int64_t from, T w) {
               for (int64_t i = 0; i < c.in; ++i) row[i] += w * x[from + i];
             },
             [&](int64_t to) {
               for (int64_t o = 0; o < c.out; ++o) {
                 T sum = 0;
                 for (int64_t k = o * c.count; k < (o + 1) * c.count; ++k) sum += weight_[k] * row[c.index[k]];
                 y[to + o] = sum;
               }
             });
  }

  void backward(const T* dy, T* dx, T* row) const {
    const Taps& c = taps_[2];
    std::fill_n(dx, in_, T(0));
    each_row(
        [&](int64_t from) {
          std::fill_n(row, c.in, T(0));
          for (int64_t o = 0; o < c.out; ++o)
            for (int64_t k = o * c.count; k < (o + 1) * c.count; ++k) row[c.index[k]] += weight_[k] * dy[from + o];
        },
        [&](int64_t to, T w) {
          for (int64_t i = 0; i < c.in; ++i) dx[to + i] += w * row[i];
        },
        [](int64_t) {});
  }

  Taps taps_[3];
  std::vector<T> weight_;
  int64_t planes_, in_, out_, slots_;
  bool grad_;
};

std::unique_ptr<Kernel> prepare_contiguous(const KernelRequest& request, std::string&) {
  bool grad = request.op == "_interpolate_grad";
  const Dims& x = grad ? request.outputs[0].shape : request.inputs[0].shape;
  const Dims& y = grad ? request.inputs[0].shape : request.outputs[0].shape;
  size_t first = grad ? 1 : 0;  // attributes: [input_shape,] size, mode, align_corners, scales
  const std::string& mode = request.attrs[first + 1].text();
  const std::vector<double>& scales = request.attrs[first + 3].floats();
  size_t ndim = request.attrs[first].ints().size(), leading = x.size() - ndim;
  Taps taps[3];
  int64_t planes = 1;
  for (size_t a = 0; a < leading; ++a) planes *= x[a];
  for (size_t a = 0; a < ndim; ++a)
    taps[3 - ndim + a] = make_taps(mode, x[leading + a], y[leading + a], request.attrs[first + 2].truth(),
                                   a < scales.size() ? scales[a] : 0, request.inputs[0].dtype != DType::F64);
  if (request.inputs[0].dtype == DType::F64)
    return std::make_unique<Interpolate<double>>(std::move(taps[0]), std::move(taps[1]), std::move(taps[2]), planes,
                                                 grad);
  return std::make_unique<Interpolate<float>>(std::move(taps[0]), std::move(taps[1]), std::move(taps[2]), planes, grad);
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  DType dtype = request.inputs[0].dtype;
  if (!is_floating(dtype)) {
    why_not = "serves floating dtypes";
    return nullptr;
  }
  return prepare_staged(request, is_reduced(dtype) ? DType::F32 : dtype, &prepare_contiguous, why_not);
}

const RegisterKernel forward({"_interpolate", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel backward({"_interpolate_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
