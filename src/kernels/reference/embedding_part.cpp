// _embedding_part and its gradient: rows that are here are copied or added up, all others passed over.
#include <algorithm>
#include <cstring>

#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/each.h"

namespace hw {

namespace {

/// Where indices lie in the part of the table that is here.
struct Part {
  TensorSpec index;
  int64_t rows, whole, first;

  /// row[i]: of the part, or -1; from[i]: where what belongs to index i lies, by `strides`.
  bool read(const KernelArgs& args, const void* data, const Dims& strides, int64_t* row, int64_t* from) const {
    int64_t i = 0, wrong = 0;
    bool fine = true;
    each<2>(index.shape, {strides_of(index), strides}, [&](int64_t at, int64_t other) {
      const int64_t r =
          index.dtype == DType::I64 ? static_cast<const int64_t*>(data)[at] : static_cast<const int32_t*>(data)[at];
      if (r < 0 || r >= whole) fine = false, wrong = r;
      row[i] = r >= first && r < first + rows ? r - first : -1;
      from[i++] = other;
    });
    if (!fine)
      args.status->report("index %ld is out of range for axis 0 with size %ld", static_cast<long>(wrong),
                          static_cast<long>(whole));
    return fine;
  }
};

Dims without_last(Dims strides) {
  strides.pop_back();
  return strides;
}

class LookUp final : public Kernel {
 public:
  explicit LookUp(const KernelRequest& r)
      : part_{r.inputs[0], r.inputs[1].shape[0], r.attrs[2].i64(), r.attrs[3].i64()},
        table_(strides_of(r.inputs[1])),
        y_(strides_of(r.outputs[0])),
        dtype_(r.outputs[0].dtype),
        features_(r.inputs[1].shape[1]),
        count_(r.inputs[0].numel()) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(2 * count_) * 8; }
  void run(const KernelArgs& args) const override {
    int64_t* row = static_cast<int64_t*>(args.scratch);
    int64_t* to = row + count_;
    if (!part_.read(args, args.inputs[0], without_last(y_), row, to)) return;
    visit_floating(dtype_, [&]<class T>(Type<T>) {
      const T* table = static_cast<const T*>(args.inputs[1]);
      T* y = static_cast<T*>(args.outputs[0]);
      const int64_t step = table_[1], y_step = y_.back();
      parallel_for(count_, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, features_)), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          T* out = y + to[i];
          const T* x = table + row[i] * table_[0];
          if (row[i] < 0)
            for (int64_t k = 0; k < features_; ++k) out[k * y_step] = T();
          else if (step == 1 && y_step == 1)
            std::memcpy(out, x, static_cast<size_t>(features_) * sizeof(T));
          else
            for (int64_t k = 0; k < features_; ++k) out[k * y_step] = x[k * step];
        }
      });
    });
  }

 private:
  Part part_;
  Dims table_, y_;
  DType dtype_;
  int64_t features_, count_;
};

class Gradient final : public Kernel {
 public:
  explicit Gradient(const KernelRequest& r)
      : part_{r.inputs[1], r.outputs[0].shape[0], r.attrs[2].i64(), r.attrs[3].i64()},
        dy_(strides_of(r.inputs[0])),
        dw_(strides_of(r.outputs[0])),
        dtype_(r.outputs[0].dtype),
        padding_(r.attrs[0].i64()),
        features_(r.outputs[0].shape[1]),
        count_(r.inputs[1].numel()),
        by_frequency_(r.attrs[1].truth()) {}
  // next[i]: the gradient after gradient i of the same row, or -1; from[i]: where it lies; first[row].
  size_t scratch_bytes() const override { return static_cast<size_t>(2 * count_ + part_.rows) * 8; }
  void run(const KernelArgs& args) const override {
    int64_t* next = static_cast<int64_t*>(args.scratch);
    int64_t *from = next + count_, *first = from + count_;
    if (!part_.read(args, args.inputs[1], without_last(dy_), next, from)) return;
    std::fill_n(first, part_.rows, int64_t{-1});
    for (int64_t i = count_; i-- > 0;) {
      const int64_t row = next[i];
      if (row < 0) continue;
      next[i] = first[row];
      if (row + part_.first != padding_) first[row] = i;
    }
    visit_floating(dtype_, [&]<class T>(Type<T>) { add<T>(args, next, from, first); });
  }

 private:
  template <class T>
  void add(const KernelArgs& args, const int64_t* next, const int64_t* from, const int64_t* first) const {
    using A = Accumulate<T>;
    const T* dy = static_cast<const T*>(args.inputs[0]);
    T* dw = static_cast<T*>(args.outputs[0]);
    parallel_for(part_.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, features_)), [&](int64_t b, int64_t e) {
      for (int64_t r = b; r < e; ++r) {
        int64_t times = 0;
        for (int64_t i = first[r]; i >= 0; i = next[i]) ++times;
        for (int64_t k = 0; k < features_; ++k) {
          A total(0);
          for (int64_t i = first[r]; i >= 0; i = next[i]) total += static_cast<A>(dy[from[i] + k * dy_.back()]);
          if (by_frequency_ && times > 1) total /= static_cast<A>(times);
          dw[r * dw_[0] + k * dw_[1]] = T(total);
        }
      }
    });
  }

  Part part_;
  Dims dy_, dw_;
  DType dtype_;
  int64_t padding_, features_, count_;
  bool by_frequency_;
};

template <class K>
std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string&) {
  return std::make_unique<K>(r);
}

const RegisterKernel look_up({"_embedding_part", "reference", DeviceType::CPU, kReferencePriority, &prepare<LookUp>});
const RegisterKernel gradient({"_embedding_part_grad", "reference", DeviceType::CPU, kReferencePriority,
                               &prepare<Gradient>});

}  // namespace

}  // namespace hw
