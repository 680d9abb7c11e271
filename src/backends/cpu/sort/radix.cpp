// sort of long rows of up to 32-bit values: least significant digit first, eleven bits a pass, which keeps equal elements in order.
#include <cstring>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

constexpr int64_t kLeast = 256;  // shorter rows are faster by comparison

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
      if constexpr (std::is_same_v<Entry<T>, uint64_t>) {
        const T* x = static_cast<const T*>(args.inputs[0]);
        T* values = static_cast<T*>(args.outputs[0]);
        int64_t* indices = static_cast<int64_t*>(args.outputs[1]);
        uint64_t* scratch = static_cast<uint64_t*>(args.scratch);
        parallel_for(numel(outer_), std::max<int64_t>(1, 4096 / n_), [&](int64_t begin, int64_t end) {
          uint64_t* e = scratch + begin * n_ * 2;
          each<3>(
              outer_, {x_strides_, values_, indices_},
              [&](int64_t from, int64_t value, int64_t index) {
                one_row(x + from, values + value, indices + index, e);
                e += n_ * 2;
              },
              begin, end);
        });
      }
    });
  }

 private:
  static constexpr int kBits = 11, kPasses = 3;
  static constexpr uint64_t kDigit = (1 << kBits) - 1;

  template <class T>
  void one_row(const T* x, T* values, int64_t* indices, uint64_t* e) const {
    uint32_t counts[kPasses][1 << kBits];
    std::memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n_; ++i) {
      e[i] = make_entry(x[i * x_step_], i, descending_);
      for (int p = 0; p < kPasses; ++p) ++counts[p][e[i] >> (32 + p * kBits) & kDigit];
    }
    uint64_t *from = e, *to = e + n_;
    for (int p = 0; p < kPasses; ++p) {
      const int shift = 32 + p * kBits;
      if (counts[p][from[0] >> shift & kDigit] == static_cast<uint64_t>(n_)) continue;  // one digit only
      uint32_t at = 0;
      for (uint32_t& c : counts[p]) {
        const uint32_t here = c;
        c = at;
        at += here;
      }
      for (int64_t i = 0; i < n_; ++i) to[counts[p][from[i] >> shift & kDigit]++] = from[i];
      std::swap(from, to);
    }
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t at = entry_index(from[i]);
      values[i * value_step_] = x[at * x_step_];
      indices[i * index_step_] = at;
    }
  }

  TensorSpec x_;
  Dims x_strides_, values_, indices_;
  bool descending_;
  Dims outer_;
  int64_t n_, x_step_, value_step_, index_step_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  const TensorSpec& x = r.inputs[0];
  const int64_t n = x.shape.empty() ? 1 : x.shape[static_cast<size_t>(normalize_axis(r.attrs[0].i64(), x.ndim()))];
  if (dtype_size(x.dtype) <= 4 && n >= kLeast && n < (int64_t{1} << 31)) return std::make_unique<RadixSort>(r);
  why_not = "only for long rows of values of up to 32 bits";
  return nullptr;
}

const RegisterKernel sort({"sort", "radix", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
