// LSTM layers: the batch is split over the team, each thread goes through all steps of its rows.
#include <algorithm>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/rnn/cells.h"
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/rnn/lstm.h"

namespace hw {

namespace {

constexpr int64_t kWorkPerThread = 1 << 20;  // multiply-adds that pay for waking a thread
constexpr int64_t kPad = 16;                 // keeps the rows of the weight from falling into one set of the cache

size_t round64(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// The product of each step, C[rows, n] = A[rows, k] W (+ input), with W copied into padded rows once a run.
class StepProduct {
 public:
  StepProduct() = default;
  StepProduct(DType dtype, int64_t n, int64_t k, int64_t threads)
      : routines_(gemm_routines(dtype)), n_(n), k_(k), size_(dtype_size(dtype)), most_rows_(4 * routines_.mr) {
    pieces_ = std::max<int64_t>(1, threads);
    width_ = (n + pieces_ - 1) / pieces_;
    width_ = (width_ + routines_.nr - 1) / routines_.nr * routines_.nr;
    pieces_ = std::max<int64_t>(1, (n + width_ - 1) / width_);
    weight_bytes_ = round64(static_cast<size_t>(k * (n + kPad) * size_));
    slot_bytes_ = round64(routines_.scratch(most_rows_, std::min(n, width_), k));
  }
  size_t weight_bytes() const { return weight_bytes_; }
  size_t slot_bytes() const { return slot_bytes_ * static_cast<size_t>(pieces_); }

  /// packed[k][n] = w[k * row + n * column]
  template <class T>
  void pack(const T* w, int64_t row, int64_t column, void* packed) const {
    T* to = static_cast<T*>(packed);
    parallel_for(k_, std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, n_)), [&](int64_t begin, int64_t end) {
      for (int64_t j0 = 0; j0 < n_; j0 += 16)  // tiles: either order of reading stays in the cache
        for (int64_t p = begin; p < end; ++p)
          for (int64_t j = j0; j < std::min(n_, j0 + 16); ++j) to[p * (n_ + kPad) + j] = w[p * row + j * column];
    });
  }

  void run(int64_t rows, const void* a, const void* packed, const void* input, void* c, void* scratch) const {
    parallel_for(pieces_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        columns(rows, piece * width_, a, packed, input, c,
                static_cast<char*>(scratch) + static_cast<size_t>(piece) * slot_bytes_);
    });
  }

 private:
  void columns(int64_t rows, int64_t j, const void* a, const void* packed, const void* input, void* c,
               void* scratch) const {
    for (int64_t i = 0; i < rows; i += most_rows_) {  // so few rows that W is read where it is
      GemmBlock b{};
      b.m = std::min(most_rows_, rows - i), b.n = std::min(width_, n_ - j), b.k = k_;
      b.a = static_cast<const char*>(a) + i * k_ * size_, b.a_row = k_, b.a_col = 1;
      b.b = static_cast<const char*>(packed) + j * size_, b.b_row = n_ + kPad, b.b_col = 1;
      b.c = static_cast<char*>(c) + (i * n_ + j) * size_, b.c_row = n_;
      b.input = input ? static_cast<const char*>(input) + (i * n_ + j) * size_ : nullptr;
      b.input_row = n_, b.input_col = 1;
      b.alpha = b.beta = 1;
      b.scratch = scratch;
      routines_.block(b);
    }
  }

  GemmRoutines routines_{};
  int64_t n_ = 0, k_ = 0, size_ = 4, most_rows_ = 0, pieces_ = 1, width_ = 0;
  size_t weight_bytes_ = 0, slot_bytes_ = 0;
};

/// What forward and backward share. Scratch: copies of inputs, the weight, then a slot for each slice of the batch.
template <class T>
class Layer : public Kernel {
 public:
  Layer(LstmRequest r, bool grad) : r_(std::move(r)), cell_(find_lstm_cell(r_.dtype)) {
    const int64_t step = 4 * r_.batch * r_.hidden * r_.hidden, team = num_threads();
    slices_ = std::clamp<int64_t>(std::min(r_.batch, r_.steps * step / kWorkPerThread), 1, team);
    const int64_t threads = slices_ > 1 ? 1 : std::clamp<int64_t>(step / kWorkPerThread, 1, team);
    product_ = StepProduct(r_.dtype, grad ? r_.hidden : 4 * r_.hidden, grad ? 4 * r_.hidden : r_.hidden, threads);
  }
  size_t scratch_bytes() const override {
    return r_.copy_bytes() + product_.weight_bytes() + static_cast<size_t>(slices_) * product_.slot_bytes();
  }

 protected:
  /// body(first row, last row, scratch of the slice) for each slice of the batch.
  template <class Body>
  void each_slice(const KernelArgs& args, Body body) const {
    auto* slots = static_cast<char*>(weight(args)) + product_.weight_bytes();
    parallel_for(slices_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s)
        body(r_.batch * s / slices_, r_.batch * (s + 1) / slices_,
             slots + static_cast<size_t>(s) * product_.slot_bytes());
    });
  }
  void* weight(const KernelArgs& args) const { return static_cast<char*>(args.scratch) + r_.copy_bytes(); }

  LstmRequest r_;
  LstmCellFns cell_;
  StepProduct product_;
  int64_t slices_ = 1;
};

template <class T>
class Forward final : public Layer<T> {
 public:
  explicit Forward(LstmRequest r) : Layer<T>(std::move(r), false) {}
  void run(const KernelArgs& args) const override {
    const LstmRequest& r = this->r_;
    if (r.batch == 0 || r.hidden == 0) return;
    r.copy_inputs(args);
    this->product_.pack(r.template input<T>(args, 1), 1, r.hidden, this->weight(args));
    this->each_slice(args, [&](int64_t first, int64_t last, void* scratch) {
      for (int64_t i = 0; i < r.steps; ++i) step(args, i, first, last, scratch);
    });
  }

 private:
  void step(const KernelArgs& args, int64_t i, int64_t first, int64_t last, void* scratch) const {
    const LstmRequest& r = this->r_;
    const int64_t hidden = r.hidden, now = r.step(i) * r.batch, before = r.step(i - 1) * r.batch;
    auto *output = static_cast<T*>(args.outputs[0]), *cells = static_cast<T*>(args.outputs[1]),
         *gates = static_cast<T*>(args.outputs[2]);
    const T* h = i == 0 ? r.template input<T>(args, 2) : output + before * hidden;
    const T* c = i == 0 ? r.template input<T>(args, 3) : cells + before * hidden;
    const int64_t at = (now + first) * 4 * hidden;
    this->product_.run(last - first, h + first * hidden, this->weight(args), r.template input<T>(args, 0) + at,
                       gates + at, scratch);
    LstmCell cell{};
    cell.hidden = hidden;
    for (int64_t n = first; n < last; ++n) {
      cell.gates = gates + (now + n) * 4 * hidden;
      cell.before = c + n * hidden;
      cell.cell = cells + (now + n) * hidden;
      cell.output = output + (now + n) * hidden;
      this->cell_.forward(cell);
    }
  }
};

template <class T>
class Backward final : public Layer<T> {
 public:
  explicit Backward(LstmRequest r) : Layer<T>(std::move(r), true) {}
  void run(const KernelArgs& args) const override {
    const LstmRequest& r = this->r_;
    if (r.batch == 0 || r.hidden == 0) return;
    r.copy_inputs(args);
    this->product_.pack(r.template input<T>(args, 0), r.hidden, 1, this->weight(args));
    this->each_slice(args, [&](int64_t first, int64_t last, void* scratch) {
      for (int k = 1; k <= 2; ++k)  // d_h0 and d_c0 hold the running gradients
        std::fill(static_cast<T*>(args.outputs[k]) + first * r.hidden,
                  static_cast<T*>(args.outputs[k]) + last * r.hidden, T(0));
      for (int64_t i = r.steps - 1; i >= 0; --i) step(args, i, first, last, scratch);
    });
  }

 private:
  void step(const KernelArgs& args, int64_t i, int64_t first, int64_t last, void* scratch) const {
    const LstmRequest& r = this->r_;
    const int64_t hidden = r.hidden, now = r.step(i) * r.batch, before = r.step(i - 1) * r.batch;
    const T *cells = r.template input<T>(args, 2), *gates = r.template input<T>(args, 3);
    const T* c = i == 0 ? r.template input<T>(args, 1) : cells + before * hidden;
    auto *d = static_cast<T*>(args.outputs[0]), *dh = static_cast<T*>(args.outputs[1]),
         *dc = static_cast<T*>(args.outputs[2]);
    LstmCell cell{};
    cell.hidden = hidden;
    for (int64_t n = first; n < last; ++n) {
      cell.gates = const_cast<T*>(gates + (now + n) * 4 * hidden);
      cell.before = c + n * hidden;
      cell.cell = const_cast<T*>(cells + (now + n) * hidden);
      cell.d_running = dh + n * hidden;
      cell.d_output = args.inputs[4] ? r.template input<T>(args, 4) + (now + n) * hidden : nullptr;
      cell.d_cells = args.inputs[5] ? r.template input<T>(args, 5) + (now + n) * hidden : nullptr;
      cell.d_cell = dc + n * hidden;
      cell.d_gates = d + (now + n) * 4 * hidden;
      this->cell_.backward(cell);
    }
    this->product_.run(last - first, d + (now + first) * 4 * hidden, this->weight(args), nullptr, dh + first * hidden,
                       scratch);
  }
};

template <template <class> class K>
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LstmRequest r;
  if (!r.read(request, why_not)) return nullptr;
  if (r.dtype == DType::F64) return std::make_unique<K<double>>(std::move(r));
  return std::make_unique<K<float>>(std::move(r));
}

const RegisterKernel registered[] = {
    RegisterKernel({"_lstm_layer", "simd", DeviceType::CPU, 10, &prepare<Forward>}),
    RegisterKernel({"_lstm_layer_grad", "simd", DeviceType::CPU, 10, &prepare<Backward>}),
};

}  // namespace

}  // namespace hw
