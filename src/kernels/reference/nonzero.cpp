// Counting and listing of elements that are not zero.
#include <algorithm>

#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert_value.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

class Count final : public Kernel {
 public:
  explicit Count(const TensorSpec& x) : x_(x), strides_(strides_of(x)) {}
  void run(const KernelArgs& args) const override {
    int64_t count = 0;
    visit_dtype(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      if (x_.contiguous()) {
        const int64_t n = x_.numel();
        for (int64_t i = 0; i < n; ++i) count += convert_value<bool>(x[i]);
      } else {
        each<1>(x_.shape, {strides_}, [&](int64_t at) { count += convert_value<bool>(x[at]); });
      }
    });
    *static_cast<int64_t*>(args.outputs[0]) = count;
  }

 private:
  TensorSpec x_;
  Dims strides_;
};

class List final : public Kernel {
 public:
  explicit List(const KernelRequest& r)
      : x_(r.inputs[0]),
        strides_(strides_of(r.inputs[0])),
        y_(strides_of(r.outputs[0])),
        count_(r.outputs[0].shape[0]) {}
  void run(const KernelArgs& args) const override {
    visit_dtype(x_.dtype, [&]<class T>(Type<T>) { list(static_cast<const T*>(args.inputs[0]), args); });
  }

 private:
  template <class T>
  void list(const T* x, const KernelArgs& args) const {
    int64_t* y = static_cast<int64_t*>(args.outputs[0]);
    const size_t ndim = x_.shape.size();
    const int64_t width = ndim ? x_.shape[ndim - 1] : 1, step = ndim ? strides_[ndim - 1] : 0;
    int64_t found = 0;
    Dims rows = x_.shape, index(ndim, 0);
    if (ndim) rows[ndim - 1] = std::min<int64_t>(1, width);
    each<1>(rows, {strides_}, [&](int64_t at) {
      const int64_t before = found;
      // Written before it is known to count, so that there is no branch to guess.
      int64_t* last = y + (ndim ? static_cast<int64_t>(ndim - 1) * y_[1] : 0);
      for (int64_t i = 0; i < width && found < count_; ++i) {
        if (ndim) last[found * y_[0]] = i;
        found += convert_value<bool>(x[at + i * step]);
      }
      for (int64_t f = before; f < found; ++f)
        for (size_t a = 0; a + 1 < ndim; ++a) y[f * y_[0] + static_cast<int64_t>(a) * y_[1]] = index[a];
      for (size_t a = ndim > 0 ? ndim - 1 : 0; a-- > 0;) {
        if (++index[a] < x_.shape[a]) break;
        index[a] = 0;
      }
    });
    if (found != count_)
      args.status->report("_nonzero: %ld elements are not zero, %ld were expected", static_cast<long>(found),
                          static_cast<long>(count_));
  }
  TensorSpec x_;
  Dims strides_, y_;
  int64_t count_;
};

std::unique_ptr<Kernel> prepare_count(const KernelRequest& r, std::string&) {
  return std::make_unique<Count>(r.inputs[0]);
}
std::unique_ptr<Kernel> prepare_list(const KernelRequest& r, std::string&) { return std::make_unique<List>(r); }

const RegisterKernel count({"_nonzero_count", "reference", DeviceType::CPU, kReferencePriority, &prepare_count});
const RegisterKernel list({"_nonzero", "reference", DeviceType::CPU, kReferencePriority, &prepare_list});

}  // namespace
}  // namespace hw
