// LSTM layers in plain loops, each element in double.
#include <cmath>

#include "kernels/rnn/lstm.h"

namespace hw {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <class T>
class Forward final : public Kernel {
 public:
  explicit Forward(LstmRequest r) : r_(std::move(r)) {}
  size_t scratch_bytes() const override { return r_.copy_bytes(); }
  void run(const KernelArgs& args) const override {
    r_.copy_inputs(args);
    for (int64_t i = 0; i < r_.steps; ++i)
      for (int64_t n = 0; n < r_.batch; ++n) row(args, i, n);
  }

 private:
  void row(const KernelArgs& args, int64_t i, int64_t n) const {
    const int64_t hidden = r_.hidden, at = r_.step(i) * r_.batch + n, before = r_.step(i - 1) * r_.batch + n;
    const T *projected = r_.input<T>(args, 0) + at * 4 * hidden, *w = r_.input<T>(args, 1);
    auto *output = static_cast<T*>(args.outputs[0]), *cells = static_cast<T*>(args.outputs[1]);
    T* gates = static_cast<T*>(args.outputs[2]) + at * 4 * hidden;
    const T* h = i == 0 ? r_.input<T>(args, 2) + n * hidden : output + before * hidden;
    const T* c = i == 0 ? r_.input<T>(args, 3) + n * hidden : cells + before * hidden;
    for (int64_t j = 0; j < 4 * hidden; ++j) {
      double sum = static_cast<double>(projected[j]);
      for (int64_t k = 0; k < hidden; ++k) sum += static_cast<double>(w[j * hidden + k]) * static_cast<double>(h[k]);
      gates[j] = static_cast<T>(j / hidden == 2 ? std::tanh(sum) : sigmoid(sum));
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const double in = static_cast<double>(gates[j]), forget = static_cast<double>(gates[hidden + j]),
                   cell = static_cast<double>(gates[2 * hidden + j]), out = static_cast<double>(gates[3 * hidden + j]);
      const double next = forget * static_cast<double>(c[j]) + in * cell;
      cells[at * hidden + j] = static_cast<T>(next);
      output[at * hidden + j] = static_cast<T>(out * std::tanh(next));
    }
  }

  LstmRequest r_;
};

template <class T>
class Backward final : public Kernel {
 public:
  explicit Backward(LstmRequest r) : r_(std::move(r)) {}
  size_t scratch_bytes() const override { return r_.copy_bytes(); }
  void run(const KernelArgs& args) const override {
    r_.copy_inputs(args);
    for (int64_t n = 0; n < r_.batch; ++n) {
      T *dh = static_cast<T*>(args.outputs[1]) + n * r_.hidden, *dc = static_cast<T*>(args.outputs[2]) + n * r_.hidden;
      for (int64_t k = 0; k < r_.hidden; ++k) dh[k] = dc[k] = T(0);
      for (int64_t i = r_.steps - 1; i >= 0; --i) row(args, i, n, dh, dc);
    }
  }

 private:
  void row(const KernelArgs& args, int64_t i, int64_t n, T* dh, T* dc) const {
    const int64_t hidden = r_.hidden, at = r_.step(i) * r_.batch + n, before = r_.step(i - 1) * r_.batch + n;
    const T *w = r_.input<T>(args, 0), *cells = r_.input<T>(args, 2), *gates = r_.input<T>(args, 3) + at * 4 * hidden;
    const T* c = i == 0 ? r_.input<T>(args, 1) + n * hidden : cells + before * hidden;
    T* d = static_cast<T*>(args.outputs[0]) + at * 4 * hidden;
    for (int64_t j = 0; j < hidden; ++j) {
      const double in = static_cast<double>(gates[j]), forget = static_cast<double>(gates[hidden + j]),
                   cell = static_cast<double>(gates[2 * hidden + j]), out = static_cast<double>(gates[3 * hidden + j]);
      const double squashed = std::tanh(static_cast<double>(cells[at * hidden + j]));
      const double to_h = static_cast<double>(dh[j]) + gradient(args, 4, at * hidden + j);
      const double to_c =
          static_cast<double>(dc[j]) + gradient(args, 5, at * hidden + j) + to_h * out * (1 - squashed * squashed);
      d[j] = static_cast<T>(to_c * cell * in * (1 - in));
      d[hidden + j] = static_cast<T>(to_c * static_cast<double>(c[j]) * forget * (1 - forget));
      d[2 * hidden + j] = static_cast<T>(to_c * in * (1 - cell * cell));
      d[3 * hidden + j] = static_cast<T>(to_h * squashed * out * (1 - out));
      dc[j] = static_cast<T>(to_c * forget);
    }
    for (int64_t k = 0; k < hidden; ++k) {
      double sum = 0;
      for (int64_t j = 0; j < 4 * hidden; ++j)
        sum += static_cast<double>(d[j]) * static_cast<double>(w[j * hidden + k]);
      dh[k] = static_cast<T>(sum);
    }
  }
  double gradient(const KernelArgs& args, size_t input, int64_t at) const {
    return args.inputs[input] ? static_cast<double>(r_.input<T>(args, input)[at]) : 0.0;
  }

  LstmRequest r_;
};

template <template <class> class K>
std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LstmRequest r;
  if (!r.read(request, why_not)) return nullptr;
  if (r.dtype == DType::F64) return std::make_unique<K<double>>(std::move(r));
  return std::make_unique<K<float>>(std::move(r));
}

const RegisterKernel registered[] = {
    RegisterKernel({"_lstm_layer", "reference", DeviceType::CPU, kReferencePriority, &prepare<Forward>}),
    RegisterKernel({"_lstm_layer_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare<Backward>}),
};

}  // namespace

}  // namespace hw
