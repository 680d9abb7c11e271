// multinomial: by search in the running sum, or without replacement by a race of exponential clocks.
#include <algorithm>

#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/random/request.h"

namespace hw {

namespace {

class Multinomial final : public Kernel {
 public:
  explicit Multinomial(const KernelRequest& r)
      : x_(r.inputs[0]),
        samples_(r.attrs[0].i64()),
        replace_(r.attrs[1].truth()),
        n_(x_.shape.back()),
        rows_(x_.ndim() == 2 ? x_.shape[0] : 1),
        x_strides_(strides_of(r.inputs[0])),
        y_(strides_of(r.outputs[0])) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(n_) * sizeof(Clock); }
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    visit_floating(x_.dtype, [&]<class T>(Type<T>) {
      for (int64_t row = 0; row < rows_; ++row) {
        const T* x = static_cast<const T*>(args.inputs[0]) + (x_.ndim() == 2 ? row * x_strides_[0] : 0);
        int64_t* y = static_cast<int64_t*>(args.outputs[0]) + (x_.ndim() == 2 ? row * y_[0] : 0);
        if (!check(x, args.status)) return;
        if (replace_)
          search(draw, row, x, y, static_cast<double*>(args.scratch));
        else
          race(draw, row, x, y, static_cast<Clock*>(args.scratch), args.status);
      }
    });
  }

 private:
  struct Clock {
    double time;
    int64_t index;
    bool operator<(const Clock& o) const { return time != o.time ? time < o.time : index < o.index; }
  };

  template <class T>
  bool check(const T* x, LaunchStatus* status) const {
    double sum = 0;
    bool bad = false;
    for (int64_t j = 0; j < n_; ++j) {
      const double w = static_cast<double>(x[j * x_strides_.back()]);
      bad |= !(w >= 0 && w < INFINITY);
      sum += w;
    }
    if (bad) status->report("RuntimeError: a weight is negative, infinite or NaN");
    if (!bad && !(sum > 0)) status->report("RuntimeError: the weights of a row sum to zero");
    return !bad && sum > 0;
  }

  template <class T>
  void search(const Draw& draw, int64_t row, const T* x, int64_t* y, double* sums) const {
    double sum = 0;
    int64_t last = 0;  // rounding must not reach past the last weight that counts
    for (int64_t j = 0; j < n_; ++j) {
      const double w = static_cast<double>(x[j * x_strides_.back()]);
      sums[j] = sum += w;
      if (w > 0) last = j;
    }
    for (int64_t s = 0; s < samples_; ++s) {
      const double at = draw.unit_f64(row * samples_ + s) * sum;
      y[s * y_.back()] = std::min<int64_t>(std::upper_bound(sums, sums + n_, at) - sums, last);
    }
  }

  template <class T>
  void race(const Draw& draw, int64_t row, const T* x, int64_t* y, Clock* clocks, LaunchStatus* status) const {
    int64_t running = 0;
    for (int64_t j = 0; j < n_; ++j) {
      const double w = static_cast<double>(x[j * x_strides_.back()]);
      clocks[j] = {w > 0 ? -std::log(draw.positive_f64(row * n_ + j)) / w : INFINITY, j};
      running += w > 0;
    }
    if (running < samples_)
      return status->report("RuntimeError: only %ld weights are not zero, %ld samples without replacement are wanted",
                            static_cast<long>(running), static_cast<long>(samples_));
    std::partial_sort(clocks, clocks + samples_, clocks + n_);
    for (int64_t s = 0; s < samples_; ++s) y[s * y_.back()] = clocks[s].index;
  }

  TensorSpec x_;
  int64_t samples_;
  bool replace_;
  int64_t n_, rows_;
  Dims x_strides_, y_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) { return std::make_unique<Multinomial>(r); }
const RegisterKernel multinomial({"multinomial", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
