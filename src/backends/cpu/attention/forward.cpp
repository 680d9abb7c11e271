// Attention without the matrix of scores: blocks of rows against blocks of columns, with running maxima and sums.
// After Dao et al., "FlashAttention" (2022), and Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
#include <cmath>

#include "backends/cpu/attention/blocks.h"
#include "base/thread_team.h"
#include "core/visit.h"

namespace hw::attention {
namespace {

template <class In>
class Forward final : public Kernel {
  using T = Wide<In>;

 public:
  Forward(AttentionRequest r, const TensorSpec& y) : r_(std::move(r)), y_(y), rows_(attention_rows(T())) {
    gemm_ = gemm_routines(std::is_same_v<T, double> ? DType::F64 : DType::F32);
    blocks_ = (r_.rows + kRows - 1) / kRows;
    int64_t units = r_.batch * r_.heads * blocks_;
    int64_t work = r_.batch * r_.heads * r_.rows * r_.columns * (r_.width + r_.value_width);
    slots_ = std::max<int64_t>(1, std::min({units, static_cast<int64_t>(num_threads()), work / (96 * 1024) + 1}));
    floats_ = kRows * r_.width + kColumns * (r_.width + r_.value_width) + kRows * kColumns + kRows * r_.value_width +
              2 * kRows;
    slot_bytes_ = round64(static_cast<size_t>(floats_) * sizeof(T)) + round64(product_scratch<T>(gemm_, r_));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes_; }
  void run(const KernelArgs& args) const override {
    int64_t units = r_.batch * r_.heads * blocks_;
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t unit = units * slot / slots_; unit < units * (slot + 1) / slots_; ++unit)
          block(args, unit, static_cast<char*>(args.scratch) + static_cast<size_t>(slot) * slot_bytes_);
    });
  }

 private:
  struct Buffers {
    T *q, *k, *v, *s, *sum, *top, *total;
  };

  void block(const KernelArgs& args, int64_t unit, char* scratch) const {
    int64_t head = unit / blocks_, b = head / r_.heads, h = head % r_.heads, i0 = unit % blocks_ * kRows;
    int64_t rows = std::min(kRows, r_.rows - i0), kh = h / r_.group();
    Buffers t;
    t.q = reinterpret_cast<T*>(scratch), t.k = t.q + kRows * r_.width, t.v = t.k + kColumns * r_.width;
    t.s = t.v + kColumns * r_.value_width, t.sum = t.s + kRows * kColumns, t.top = t.sum + kRows * r_.value_width,
    t.total = t.top + kRows;
    Product<T> product{gemm_, scratch + round64(static_cast<size_t>(floats_) * sizeof(T))};
    const void* mask = r_.mask.given() ? args.inputs[3] : nullptr;
    Block<T> q = load<In, T>(args.inputs[0], r_.q, b, h, i0, rows, t.q);
    std::fill_n(t.top, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(t.total, rows, T(0));
    std::fill_n(t.sum, rows * r_.value_width, T(0));
    int64_t seen = r_.visible(i0 + rows - 1);
    for (int64_t j0 = 0; j0 < seen; j0 += kColumns) {
      int64_t columns = std::min(kColumns, seen - j0);
      Block<T> k = load<In, T>(args.inputs[1], r_.k, b, kh, j0, columns, t.k);
      product(rows, columns, r_.width, q.data, q.row, 1, k.data, 1, k.row, t.s, kColumns, static_cast<T>(r_.scale),
              false);
      if (mask || (r_.causal && j0 + columns > i0 + 1)) apply_mask(r_, mask, b, h, i0, rows, j0, columns, t.s);
      for (int64_t i = 0; i < rows; ++i) {
        T before = t.top[i];
        T sum = rows_.exponentials(t.s + i * kColumns, columns, t.top[i]);
        T factor = before == t.top[i] ? T(1) : std::exp(before - t.top[i]);
        t.total[i] = t.total[i] * factor + sum;
        if (factor != T(1) && j0 > 0) rows_.scale(t.sum + i * r_.value_width, r_.value_width, factor);
      }
      Block<T> v = load<In, T>(args.inputs[2], r_.v, b, kh, j0, columns, t.v);
      product(rows, r_.value_width, columns, t.s, kColumns, 1, v.data, v.row, 1, t.sum, r_.value_width, T(1), j0 > 0);
    }
    finish(args, head, i0, rows, t);
  }

  void finish(const KernelArgs& args, int64_t head, int64_t i0, int64_t rows, const Buffers& t) const {
    In* y = static_cast<In*>(args.outputs[0]) + head / r_.heads * y_.strides[0] + head % r_.heads * y_.strides[1] +
            i0 * y_.strides[2];
    T* lse = static_cast<T*>(args.outputs[1]) + head * r_.rows + i0;
    for (int64_t i = 0; i < rows; ++i) {
      const T nothing = r_.nan_rows ? std::numeric_limits<T>::quiet_NaN() : T(0);
      T factor = t.total[i] == T(0) ? nothing : T(1) / t.total[i];
      lse[i] = t.total[i] == T(0) ? -std::numeric_limits<T>::infinity() : t.top[i] + std::log(t.total[i]);
      T* sum = t.sum + i * r_.value_width;
      rows_.scale(sum, r_.value_width, factor);
      for (int64_t e = 0; e < r_.value_width; ++e) y[i * y_.strides[2] + e] = narrow<In>(sum[e]);
    }
  }

  AttentionRequest r_;
  TensorSpec y_;
  AttentionRows<T> rows_;
  GemmRoutines gemm_;
  int64_t blocks_, slots_, floats_;
  size_t slot_bytes_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  AttentionRequest r;
  if (!read_attention(request, r, why_not)) return nullptr;
  if ((r.value_width > 1 && request.outputs[0].strides[3] != 1) || !request.outputs[1].contiguous()) {
    why_not = "the rows of the output or the log sums are not contiguous";
    return nullptr;
  }
  return visit_floating(r.q.dtype, [&]<class In>(Type<In>) -> std::unique_ptr<Kernel> {
    return std::make_unique<Forward<In>>(r, request.outputs[0]);
  });
}

const RegisterKernel forward({"_attention", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw::attention
