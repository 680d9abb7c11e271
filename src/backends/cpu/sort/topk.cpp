// topk for a small part of a row: one pass that keeps the best in a heap.
#include <algorithm>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

class HeapTopk final : public Kernel {
 public:
  explicit HeapTopk(const KernelRequest& r)
      : x_(r.inputs[0]),
        x_strides_(strides_of(r.inputs[0])),
        values_(strides_of(r.outputs[0])),
        indices_(strides_of(r.outputs[1])),
        k_(r.attrs[0].i64()),
        descending_(r.attrs[2].truth()),
        outer_(x_.shape) {
    const size_t axis = static_cast<size_t>(normalize_axis(r.attrs[1].i64(), x_.ndim()));
    n_ = outer_[axis];
    x_step_ = x_strides_[axis], value_step_ = values_[axis], index_step_ = indices_[axis];
    outer_[axis] = 1;
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(numel(outer_) * k_) * sizeof(WideEntry); }
  void run(const KernelArgs& args) const override {
    visit_sortable(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* values = static_cast<T*>(args.outputs[0]);
      int64_t* indices = static_cast<int64_t*>(args.outputs[1]);
      parallel_for(numel(outer_), std::max<int64_t>(1, 8192 / n_), [&](int64_t begin, int64_t end) {
        Entry<T>* heap = static_cast<Entry<T>*>(args.scratch) + begin * k_;
        each<3>(
            outer_, {x_strides_, values_, indices_},
            [&](int64_t from, int64_t value, int64_t index) {
              one_row(x + from, values + value, indices + index, heap);
              heap += k_;
            },
            begin, end);
      });
    });
  }

 private:
  template <class T>
  void one_row(const T* x, T* values, int64_t* indices, Entry<T>* heap) const {
    for (int64_t i = 0; i < k_; ++i) heap[i] = make_entry(x[i * x_step_], i, descending_);
    std::make_heap(heap, heap + k_);
    // The top of the heap is the worst of the best; entries of later places come after equal ones.
    auto worst = sort_key(x[entry_index(heap[0]) * x_step_]);
    for (int64_t i = k_; i < n_; ++i) {
      const auto key = sort_key(x[i * x_step_]);
      if (descending_ ? key <= worst : key >= worst) continue;
      std::pop_heap(heap, heap + k_);
      heap[k_ - 1] = make_entry(x[i * x_step_], i, descending_);
      std::push_heap(heap, heap + k_);
      worst = sort_key(x[entry_index(heap[0]) * x_step_]);
    }
    std::sort_heap(heap, heap + k_);
    for (int64_t i = 0; i < k_; ++i) {
      const int64_t at = entry_index(heap[i]);
      values[i * value_step_] = x[at * x_step_];
      indices[i * index_step_] = at;
    }
  }

  TensorSpec x_;
  Dims x_strides_, values_, indices_;
  int64_t k_;
  bool descending_;
  Dims outer_;
  int64_t n_, x_step_, value_step_, index_step_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  const TensorSpec& x = r.inputs[0];
  const int64_t n = x.shape.empty() ? 1 : x.shape[static_cast<size_t>(normalize_axis(r.attrs[1].i64(), x.ndim()))];
  if (r.attrs[0].i64() > 0 && r.attrs[0].i64() * 8 <= n && n < (int64_t{1} << 32)) return std::make_unique<HeapTopk>(r);
  why_not = "only for an eighth of a row at most";
  return nullptr;
}

const RegisterKernel topk({"topk", "heap", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
