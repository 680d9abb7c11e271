// sort and the finding of different elements by radix sort, for long rows of 32-bit values and of integers close together.
#include "backends/cpu/sort/radix.h"

#include <algorithm>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

/// Sorted (key, place) words of a row, or null if it needs 64-bit keys.
template <class T>
uint64_t* sorted_row(const T* x, int64_t n, int64_t step, bool descending, uint64_t* e) {
  if constexpr (std::is_same_v<Entry<T>, uint64_t>) {
    for (int64_t i = 0; i < n; ++i) e[i] = make_entry(x[i * step], i, descending);
    return radix_sort(e, e + n, n);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    int64_t least = 0;
    if (!fits_32_bits(x, n, step, least)) return nullptr;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t key = static_cast<uint32_t>(static_cast<uint64_t>(x[i * step]) - static_cast<uint64_t>(least));
      e[i] = uint64_t{descending ? ~key : key} << 32 | static_cast<uint64_t>(i);
    }
    return radix_sort(e, e + n, n);
  }
  return nullptr;
}

/// The places of a row in order, in the scratch of 16 bytes an element.
template <class T, class Put>
void sort_row(const T* x, int64_t n, int64_t step, bool descending, uint64_t* scratch, Put&& put) {
  if (const uint64_t* sorted = sorted_row(x, n, step, descending, scratch)) {
    for (int64_t i = 0; i < n; ++i) put(i, entry_index(sorted[i]));
    return;
  }
  Entry<T>* e = static_cast<Entry<T>*>(static_cast<void*>(scratch));
  for (int64_t i = 0; i < n; ++i) e[i] = make_entry(x[i * step], i, descending);
  std::sort(e, e + n);
  for (int64_t i = 0; i < n; ++i) put(i, entry_index(e[i]));
}

class RadixSort final : public Kernel {
 public:
  explicit RadixSort(const KernelRequest& r)
      : x_(r.inputs[0]),
        x_strides_(strides_of(r.inputs[0])),
        values_(strides_of(r.outputs[0])),
        indices_(strides_of(r.outputs[1])),
        descending_(r.attrs[1].truth()),
        outer_(x_.shape) {
    const size_t axis = static_cast<size_t>(normalize_axis(r.attrs[0].i64(), x_.ndim()));
    n_ = outer_[axis];
    x_step_ = x_strides_[axis], value_step_ = values_[axis], index_step_ = indices_[axis];
    outer_[axis] = 1;
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(numel(outer_) * n_) * 16; }
  void run(const KernelArgs& args) const override {
    visit_sortable(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* values = static_cast<T*>(args.outputs[0]);
      int64_t* indices = static_cast<int64_t*>(args.outputs[1]);
      uint64_t* scratch = static_cast<uint64_t*>(args.scratch);
      parallel_for(numel(outer_), std::max<int64_t>(1, 4096 / n_), [&](int64_t begin, int64_t end) {
        uint64_t* e = scratch + begin * n_ * 2;
        each<3>(
            outer_, {x_strides_, values_, indices_},
            [&](int64_t from, int64_t value, int64_t index) {
              const T* row = x + from;
              sort_row(row, n_, x_step_, descending_, e, [&](int64_t i, int64_t at) {
                values[value + i * value_step_] = row[at * x_step_];
                indices[index + i * index_step_] = at;
              });
              e += n_ * 2;
            },
            begin, end);
      });
    });
  }

 private:
  TensorSpec x_;
  Dims x_strides_, values_, indices_;
  bool descending_;
  Dims outer_;
  int64_t n_, x_step_, value_step_, index_step_;
};

class Unique final : public Kernel {
 public:
  explicit Unique(const KernelRequest& r)
      : n_(r.inputs[0].numel()), stride_(strides_of(r.inputs[0])[0]), dtype_(r.inputs[0].dtype) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(n_) * 16; }
  void run(const KernelArgs& args) const override {
    visit_sortable(dtype_, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* values = static_cast<T*>(args.outputs[0]);
      int64_t *inverse = static_cast<int64_t*>(args.outputs[1]), *counts = static_cast<int64_t*>(args.outputs[2]);
      int64_t groups = 0;
      sort_row(x, n_, stride_, false, static_cast<uint64_t*>(args.scratch), [&](int64_t i, int64_t at) {
        const T value = x[at * stride_];
        if (i == 0 || !(value == values[groups - 1])) {  // every NaN is different
          counts[groups] = 0;
          values[groups++] = value;
        }
        ++counts[groups - 1];
        inverse[at] = groups - 1;
      });
      *static_cast<int64_t*>(args.outputs[3]) = groups;
    });
  }

 private:
  int64_t n_, stride_;
  DType dtype_;
};

bool takes(DType dtype, int64_t n, std::string& why_not) {
  if ((dtype_size(dtype) <= 4 || dtype == DType::I64) && n >= kRadixLeast && n < (int64_t{1} << 31)) return true;
  why_not = "only for long rows of values of up to 32 bits or int64";
  return false;
}

std::unique_ptr<Kernel> prepare_sort(const KernelRequest& r, std::string& why_not) {
  const TensorSpec& x = r.inputs[0];
  const int64_t n = x.shape.empty() ? 1 : x.shape[static_cast<size_t>(normalize_axis(r.attrs[0].i64(), x.ndim()))];
  return takes(x.dtype, n, why_not) ? std::make_unique<RadixSort>(r) : nullptr;
}
std::unique_ptr<Kernel> prepare_unique(const KernelRequest& r, std::string& why_not) {
  return takes(r.inputs[0].dtype, r.inputs[0].numel(), why_not) ? std::make_unique<Unique>(r) : nullptr;
}

const RegisterKernel sort({"sort", "radix", DeviceType::CPU, 10, &prepare_sort});
const RegisterKernel unique({"_unique", "radix", DeviceType::CPU, 10, &prepare_unique});

}  // namespace
}  // namespace hw
