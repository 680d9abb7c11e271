// The gradient of attention, block by block: the probabilities are computed again from the log sums of the forward pass.
#include "backends/cpu/attention/blocks.h"
#include "base/thread_team.h"
#include "core/visit.h"

namespace hw::attention {
namespace {

/// One unit is one key head: the blocks of columns outside, the rows of all its query heads inside.
template <class In>
class Backward final : public Kernel {
  using T = Wide<In>;

 public:
  Backward(AttentionRequest r, const KernelRequest& request)
      : r_(std::move(r)), dy_(request.inputs[0]), y_(request.inputs[4]), rows_(attention_rows(T())) {
    for (size_t i = 0; i < 3; ++i) outputs_[i] = request.outputs[i];
    gemm_ = gemm_routines(std::is_same_v<T, double> ? DType::F64 : DType::F32);
    int64_t work = r_.batch * r_.heads * r_.rows * r_.columns * (r_.width + r_.value_width);
    slots_ = std::max<int64_t>(
        1, std::min({r_.batch * r_.key_heads, static_cast<int64_t>(num_threads()), work / (64 * 1024) + 1}));
    int64_t queries = r_.group() * r_.rows;
    floats_ = queries * (r_.width + 1) + kColumns * 2 * (r_.width + r_.value_width) +
              kRows * (r_.width + 2 * r_.value_width) + 2 * kRows * kColumns;
    slot_bytes_ = round64(static_cast<size_t>(floats_) * sizeof(T)) + round64(product_scratch<T>(gemm_, r_));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes_; }
  void run(const KernelArgs& args) const override {
    int64_t units = r_.batch * r_.key_heads;
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t unit = units * slot / slots_; unit < units * (slot + 1) / slots_; ++unit)
          key_head(args, unit, static_cast<char*>(args.scratch) + static_cast<size_t>(slot) * slot_bytes_);
    });
  }

 private:
  struct Buffers {
    T *dq, *mean, *k, *v, *dk, *dv, *q, *dy, *y, *p, *ds;
  };

  Buffers carve(char* scratch) const {
    Buffers t;
    int64_t queries = r_.group() * r_.rows;
    t.dq = reinterpret_cast<T*>(scratch), t.mean = t.dq + queries * r_.width;
    t.k = t.mean + queries, t.v = t.k + kColumns * r_.width;
    t.dk = t.v + kColumns * r_.value_width, t.dv = t.dk + kColumns * r_.width;
    t.q = t.dv + kColumns * r_.value_width, t.dy = t.q + kRows * r_.width, t.y = t.dy + kRows * r_.value_width;
    t.p = t.y + kRows * r_.value_width, t.ds = t.p + kRows * kColumns;
    return t;
  }

  void key_head(const KernelArgs& args, int64_t unit, char* scratch) const {
    int64_t b = unit / r_.key_heads, kh = unit % r_.key_heads;
    Buffers t = carve(scratch);
    Product<T> product{gemm_, scratch + round64(static_cast<size_t>(floats_) * sizeof(T))};
    std::fill_n(t.dq, r_.group() * r_.rows * r_.width, T(0));
    means(args, b, kh, t);
    for (int64_t j0 = 0; j0 < r_.columns; j0 += kColumns) {
      int64_t columns = std::min(kColumns, r_.columns - j0);
      Block<T> k = load<In, T>(args.inputs[2], r_.k, b, kh, j0, columns, t.k);
      Block<T> v = load<In, T>(args.inputs[3], r_.v, b, kh, j0, columns, t.v);
      std::fill_n(t.dk, columns * r_.width, T(0));
      std::fill_n(t.dv, columns * r_.value_width, T(0));
      for (int64_t g = 0; g < r_.group(); ++g)
        for (int64_t i0 = 0; i0 < r_.rows; i0 += kRows) {
          int64_t rows = std::min(kRows, r_.rows - i0);
          if (r_.causal && j0 > i0 + rows - 1) continue;
          tile(args, b, kh * r_.group() + g, g, i0, rows, j0, columns, k, v, t, product);
        }
      store(args, 1, t.dk, b, kh, j0, columns);
      store(args, 2, t.dv, b, kh, j0, columns);
    }
    for (int64_t g = 0; g < r_.group(); ++g)
      store(args, 0, t.dq + g * r_.rows * r_.width, b, kh * r_.group() + g, 0, r_.rows);
  }

  /// Rows of one head, from position `at`.
  void store(const KernelArgs& args, size_t output, const T* from, int64_t b, int64_t h, int64_t at,
             int64_t rows) const {
    const TensorSpec& to = outputs_[output];
    const int64_t width = to.shape[3];
    In* out = static_cast<In*>(args.outputs[output]) + b * to.strides[0] + h * to.strides[1] + at * to.strides[2];
    for (int64_t i = 0; i < rows; ++i, from += width, out += to.strides[2])
      if constexpr (std::is_same_v<In, T>)
        std::copy_n(from, width, out);
      else
        for (int64_t e = 0; e < width; ++e) out[e] = narrow<In>(from[e]);
  }

  /// mean[i] = sum over e of dy y, which is the sum over j of p dp.
  void means(const KernelArgs& args, int64_t b, int64_t kh, const Buffers& t) const {
    for (int64_t g = 0; g < r_.group(); ++g)
      for (int64_t i0 = 0; i0 < r_.rows; i0 += kRows) {
        int64_t rows = std::min(kRows, r_.rows - i0), h = kh * r_.group() + g;
        Block<T> dy = load<In, T>(args.inputs[0], dy_, b, h, i0, rows, t.dy),
                 y = load<In, T>(args.inputs[4], y_, b, h, i0, rows, t.y);
        for (int64_t i = 0; i < rows; ++i)
          t.mean[g * r_.rows + i0 + i] = rows_.dot(dy.data + i * dy.row, y.data + i * y.row, r_.value_width);
      }
  }

  void tile(const KernelArgs& args, int64_t b, int64_t h, int64_t g, int64_t i0, int64_t rows, int64_t j0,
            int64_t columns, const Block<T>& k, const Block<T>& v, const Buffers& t, const Product<T>& product) const {
    const void* mask = r_.mask.given() ? args.inputs[6] : nullptr;
    T scale = static_cast<T>(r_.scale);
    Block<T> q = load<In, T>(args.inputs[1], r_.q, b, h, i0, rows, t.q),
             dy = load<In, T>(args.inputs[0], dy_, b, h, i0, rows, t.dy);
    product(rows, columns, r_.width, q.data, q.row, 1, k.data, 1, k.row, t.p, kColumns, scale, false);
    if (mask || (r_.causal && j0 + columns > i0 + 1)) apply_mask(r_, mask, b, h, i0, rows, j0, columns, t.p);
    product(rows, columns, r_.value_width, dy.data, dy.row, 1, v.data, 1, v.row, t.ds, kColumns, T(1), false);
    const T* lse = static_cast<const T*>(args.inputs[5]) + (b * r_.heads + h) * r_.rows + i0;
    for (int64_t i = 0; i < rows; ++i)
      rows_.gradient(t.p + i * kColumns, t.ds + i * kColumns, columns, lse[i], t.mean[g * r_.rows + i0 + i]);
    product(columns, r_.value_width, rows, t.p, 1, kColumns, dy.data, dy.row, 1, t.dv, r_.value_width, T(1), true);
    product(columns, r_.width, rows, t.ds, 1, kColumns, q.data, q.row, 1, t.dk, r_.width, scale, true);
    product(rows, r_.width, columns, t.ds, kColumns, 1, k.data, k.row, 1, t.dq + (g * r_.rows + i0) * r_.width,
            r_.width, scale, true);
  }

  AttentionRequest r_;
  TensorSpec dy_, y_, outputs_[3];
  AttentionRows<T> rows_;
  GemmRoutines gemm_;
  int64_t slots_, floats_;
  size_t slot_bytes_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  AttentionRequest r;
  if (!read_attention(request, r, why_not)) return nullptr;
  for (const TensorSpec& out : request.outputs)
    if (out.shape[3] > 1 && out.strides[3] != 1) {
      why_not = "the rows of an output are not contiguous";
      return nullptr;
    }
  if (!request.inputs[5].contiguous()) {
    why_not = "the log sums are not contiguous";
    return nullptr;
  }
  if (r.key_heads == 0) {
    why_not = "there are no heads";
    return nullptr;
  }
  return visit_floating(r.q.dtype, [&]<class In>(Type<In>) -> std::unique_ptr<Kernel> {
    return std::make_unique<Backward<In>>(r, request);
  });
}

const RegisterKernel backward({"_attention_grad", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw::attention
