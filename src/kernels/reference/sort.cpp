// sort, topk and the finding of different elements: comparison sorts of (key, place) pairs.
#include <algorithm>

#include "base/thread_team.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

/// sort (k = all) and topk along an axis.
class SortRows final : public Kernel {
 public:
  SortRows(const KernelRequest& r, int64_t dim, bool descending, int64_t k)
      : x_(r.inputs[0]),
        x_strides_(strides_of(r.inputs[0])),
        values_(strides_of(r.outputs[0])),
        indices_(strides_of(r.outputs[1])),
        descending_(descending),
        k_(k) {
    outer_ = x_.shape;
    if (outer_.empty()) return;
    axis_ = static_cast<size_t>(normalize_axis(dim, x_.ndim()));
    n_ = outer_[axis_];
    x_step_ = x_strides_[axis_], value_step_ = values_[axis_], index_step_ = indices_[axis_];
    outer_[axis_] = 1;
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(numel(outer_) * n_) * sizeof(WideEntry); }
  void run(const KernelArgs& args) const override {
    const int64_t rows = numel(outer_);
    visit_sortable(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* values = static_cast<T*>(args.outputs[0]);
      int64_t* indices = static_cast<int64_t*>(args.outputs[1]);
      Entry<T>* scratch = static_cast<Entry<T>*>(args.scratch);
      parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n_)), [&](int64_t begin, int64_t end) {
        Entry<T>* e = scratch + begin * n_;
        each<3>(
            outer_, {x_strides_, values_, indices_},
            [&](int64_t from, int64_t value, int64_t index) {
              one_row(x + from, values + value, indices + index, e);
              e += n_;
            },
            begin, end);
      });
    });
  }

 private:
  template <class T>
  void one_row(const T* x, T* values, int64_t* indices, Entry<T>* e) const {
    for (int64_t i = 0; i < n_; ++i) e[i] = make_entry(x[i * x_step_], i, descending_);
    if (k_ < n_) std::nth_element(e, e + k_, e + n_);
    std::sort(e, e + k_);
    for (int64_t i = 0; i < k_; ++i) {
      const int64_t at = entry_index(e[i]);
      values[i * value_step_] = x[at * x_step_];
      indices[i * index_step_] = at;
    }
  }

  TensorSpec x_;
  Dims x_strides_, values_, indices_, outer_;
  size_t axis_ = 0;
  bool descending_;
  int64_t k_, n_ = 1, x_step_ = 1, value_step_ = 1, index_step_ = 1;
};

std::unique_ptr<Kernel> prepare_sort(const KernelRequest& r, std::string&) {
  const TensorSpec& x = r.inputs[0];
  const int64_t n = x.shape.empty() ? 1 : x.shape[static_cast<size_t>(normalize_axis(r.attrs[0].i64(), x.ndim()))];
  return std::make_unique<SortRows>(r, r.attrs[0].i64(), r.attrs[1].truth(), n);
}
std::unique_ptr<Kernel> prepare_topk(const KernelRequest& r, std::string&) {
  const int64_t k = r.inputs[0].shape.empty() ? 1 : r.attrs[0].i64();  // a 0-d result has an element even for k = 0
  return std::make_unique<SortRows>(r, r.attrs[1].i64(), r.attrs[2].truth(), k);
}

/// Writes inverse, counts and the number of groups for the sorted places; `first(group, place)` for each group.
template <class Same, class Place, class First>
void group(int64_t n, const KernelArgs& args, Same&& same, Place&& place, First&& first) {
  int64_t *inverse = static_cast<int64_t*>(args.outputs[1]), *counts = static_cast<int64_t*>(args.outputs[2]);
  int64_t groups = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !same(i - 1, i)) {
      counts[groups] = 0;
      first(groups++, place(i));
    }
    ++counts[groups - 1];
    inverse[place(i)] = groups - 1;
  }
  *static_cast<int64_t*>(args.outputs[3]) = groups;
}

class Unique final : public Kernel {
 public:
  explicit Unique(const KernelRequest& r)
      : n_(r.inputs[0].numel()), stride_(n_ > 1 ? strides_of(r.inputs[0])[0] : 1), dtype_(r.inputs[0].dtype) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(n_) * sizeof(WideEntry); }
  void run(const KernelArgs& args) const override {
    visit_sortable(dtype_, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      T* values = static_cast<T*>(args.outputs[0]);
      Entry<T>* e = static_cast<Entry<T>*>(args.scratch);
      for (int64_t i = 0; i < n_; ++i) e[i] = make_entry(x[i * stride_], i, false);
      std::sort(e, e + n_);
      auto at = [&](int64_t i) { return x[entry_index(e[i]) * stride_]; };
      group(
          n_, args, [&](int64_t a, int64_t b) { return at(a) == at(b); },  // every NaN is different
          [&](int64_t i) { return entry_index(e[i]); },
          [&](int64_t g, int64_t place) { values[g] = x[place * stride_]; });
    });
  }

 private:
  int64_t n_, stride_;
  DType dtype_;
};

class UniqueRows final : public Kernel {
 public:
  explicit UniqueRows(const KernelRequest& r) : x_(r.inputs[0]), strides_(strides_of(r.inputs[0])) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(x_.shape[0]) * sizeof(int64_t); }
  void run(const KernelArgs& args) const override {
    visit_sortable(x_.dtype, [&]<class T>(Type<T>) {
      const T* x = static_cast<const T*>(args.inputs[0]);
      int64_t* order = static_cast<int64_t*>(args.scratch);
      const int64_t n = x_.shape[0];
      for (int64_t i = 0; i < n; ++i) order[i] = i;
      std::sort(order, order + n, [&](int64_t a, int64_t b) {
        const int c = compare(x, a, b);
        return c ? c < 0 : a < b;
      });
      int64_t* rows = static_cast<int64_t*>(args.outputs[0]);
      group(
          n, args, [&](int64_t a, int64_t b) { return compare(x, order[a], order[b]) == 0; },
          [&](int64_t i) { return order[i]; }, [&](int64_t g, int64_t place) { rows[g] = place; });
    });
  }

 private:
  template <class T>
  int compare(const T* x, int64_t a, int64_t b) const {
    for (int64_t i = 0; i < x_.shape[1]; ++i) {
      const auto u = sort_key(x[a * strides_[0] + i * strides_[1]]), v = sort_key(x[b * strides_[0] + i * strides_[1]]);
      if (u != v) return u < v ? -1 : 1;
    }
    return 0;
  }
  TensorSpec x_;
  Dims strides_;
};

std::unique_ptr<Kernel> prepare_unique(const KernelRequest& r, std::string&) { return std::make_unique<Unique>(r); }
std::unique_ptr<Kernel> prepare_rows(const KernelRequest& r, std::string&) { return std::make_unique<UniqueRows>(r); }

const RegisterKernel sort({"sort", "reference", DeviceType::CPU, kReferencePriority, &prepare_sort});
const RegisterKernel topk({"topk", "reference", DeviceType::CPU, kReferencePriority, &prepare_topk});
const RegisterKernel unique({"_unique", "reference", DeviceType::CPU, kReferencePriority, &prepare_unique});
const RegisterKernel unique_rows({"_unique_rows", "reference", DeviceType::CPU, kReferencePriority, &prepare_rows});

}  // namespace
}  // namespace hw
