// Optimiser steps of embedding tables from the gradients of the rows that were looked up. Where a zero gradient changes nothing, only
// those rows are touched; otherwise all rows are walked with a gradient that is made block by block in the cache.
#include <bit>

#include "backends/cpu/index/row_gradients.h"
#include "backends/cpu/optim/rows.h"
#include "base/thread_team.h"
#include "kernels/optim/embedding_step.h"
#include "kernels/optim/formulas.h"

namespace hw {

namespace {

constexpr int64_t kBlock = 4096;       // elements of gradient that are made at a time
constexpr int64_t kGrain = 1 << 15;    // elements of the table worth a thread
constexpr int64_t kTouched = 1 << 11;  // the same where memory is met here and there

/// A row that has gradients, and the first of them.
struct Touched {
  int64_t row, first;
};

class EmbeddingStep final : public Kernel {
 public:
  EmbeddingStep(const KernelRequest& r, const EmbeddingStepParts& parts)
      : gradients_(r.inputs[1], r.inputs[2], r.inputs[0].shape[0], parts.by_frequency),
        op_(parts.op),
        rows_fn_(find_step_rows({parts.op, parts.step_inputs, r.outputs, r.attrs}, r.inputs[0].dtype)),
        size_(dtype_size(r.inputs[0].dtype)),
        rows_(r.inputs[0].shape[0]),
        features_(r.inputs[0].shape[1]),
        count_(gradients_.count()),
        padding_(parts.padding) {
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (r.inputs[i].given() && i != 1 && i != 2) inputs_[written_++] = i;
    places_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * count_ + 2)));
  }

  // For each gradient its place and the next one of its row; rows that have gradients; and the table by which a row is found there.
  size_t scratch_bytes() const override { return static_cast<size_t>(4 * count_ + places_) * 8; }

  void run(const KernelArgs& args) const override {
    auto* from = static_cast<int64_t*>(args.scratch);
    int64_t* next = from + count_;
    auto* touched = reinterpret_cast<Touched*>(next + count_);
    if (!gradients_.read(args, args.inputs[2], next, from)) return;
    const int64_t distinct = chain(next, touched, reinterpret_cast<int64_t*>(touched + count_));
    for (size_t i = 0; i < written_; ++i)
      if (args.outputs[i] != args.inputs[inputs_[i]])
        std::memcpy(args.outputs[i], args.inputs[inputs_[i]], static_cast<size_t>(rows_ * features_ * size_));
    if (optim::zero_changes_nothing(op_, written_ > 1, *args.attrs)) {
      parallel_for(distinct, std::max<int64_t>(1, kTouched / std::max<int64_t>(1, features_)),
                   [&](int64_t b, int64_t e) {
                     for (int64_t t = b; t < e; ++t)
                       step_rows(args, from, next, touched[t].row, touched[t].row + 1, touched + t, 1);
                   });
      return;
    }
    std::sort(touched, touched + distinct, [](const Touched& a, const Touched& b) { return a.row < b.row; });
    const int64_t block = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, features_));
    parallel_for(rows_, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, features_)), [&](int64_t b, int64_t e) {
      const Touched* t =
          std::lower_bound(touched, touched + distinct, b, [](const Touched& x, int64_t row) { return x.row < row; });
      for (int64_t r = b; r < e; r += block) {
        const int64_t end = std::min(r + block, e);
        int64_t n = 0;
        while (t + n < touched + distinct && t[n].row < end) ++n;
        step_rows(args, from, next, r, end, t, n);
        t += n;
      }
    });
  }

 private:
  /// Chains the gradients of each row in the order of the indices. On entry next[i] is the row of gradient i. The number of rows.
  int64_t chain(int64_t* next, Touched* touched, int64_t* places) const {
    std::fill_n(places, places_, int64_t{-1});
    int64_t distinct = 0;
    for (int64_t i = count_; i-- > 0;) {
      const int64_t row = next[i];
      next[i] = -1;
      if (row == padding_) continue;
      auto at = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ull >> 20;
      const auto mask = static_cast<uint64_t>(places_ - 1);
      while (places[at & mask] >= 0 && touched[places[at & mask]].row != row) ++at;
      int64_t& place = places[at & mask];
      if (place < 0) {
        place = distinct;
        touched[distinct++] = {row, i};
      } else {
        next[i] = touched[place].first;
        touched[place].first = i;
      }
    }
    return distinct;
  }

  /// Rows [begin, end) of the table, n of which have gradients.
  void step_rows(const KernelArgs& args, const int64_t* from, const int64_t* next, int64_t begin, int64_t end,
                 const Touched* touched, int64_t n) const {
    alignas(64) char gradient[kBlock * sizeof(double)];
    for (int64_t c = 0; c < features_; c += kBlock) {  // in one piece, unless a row is longer than a block
      const int64_t width = std::min(kBlock, features_ - c);
      if (n < end - begin) std::memset(gradient, 0, static_cast<size_t>((end - begin) * width * size_));
      for (int64_t t = 0; t < n; ++t)
        gradients_.sum(args.inputs[1], from, next, touched[t].first, c, c + width,
                       gradient + (touched[t].row - begin) * width * size_);
      void* written[4];
      for (size_t i = 0; i < written_; ++i)
        written[i] = static_cast<char*>(args.outputs[i]) + (begin * features_ + c) * size_;
      rows_fn_(*args.attrs, written[0], gradient, written + 1, (end - begin) * width);
    }
  }

  RowGradients gradients_;
  std::string_view op_;
  StepRowsFn rows_fn_;
  int64_t size_, rows_, features_, count_, padding_, places_;
  size_t inputs_[4] = {}, written_ = 0;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  const DType dtype = r.inputs[0].dtype;
  bool contiguous = strides_of(r.inputs[1]).back() == 1;
  for (size_t i = 0; i < r.inputs.size(); ++i)
    if (i != 1 && i != 2 && r.inputs[i].given()) contiguous = contiguous && r.inputs[i].contiguous();
  for (const TensorSpec& s : r.outputs) contiguous = contiguous && s.contiguous();
  if (dtype != DType::F32 && dtype != DType::F64)
    why_not = "needs float32 or float64";
  else if (!contiguous)
    why_not = "needs contiguous tables and rows";
  else
    return std::make_unique<EmbeddingStep>(r, embedding_step_parts(r));
  return nullptr;
}

const RegisterKernel sgd({"embedding_sgd_step", "cpu", DeviceType::CPU, 10, &prepare});
const RegisterKernel adam({"embedding_adam_step", "cpu", DeviceType::CPU, 10, &prepare});
const RegisterKernel rmsprop({"embedding_rmsprop_step", "cpu", DeviceType::CPU, 10, &prepare});
const RegisterKernel adagrad({"embedding_adagrad_step", "cpu", DeviceType::CPU, 10, &prepare});

}  // namespace

}  // namespace hw
