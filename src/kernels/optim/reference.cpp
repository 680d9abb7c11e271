// The optimiser steps, plainly: any strides, one element at a time in float64, on the caller's thread.
#include <vector>

#include "kernels/loops/convert.h"
#include "kernels/optim/formulas.h"

namespace hw {

namespace {

using namespace optim;
constexpr size_t kMost = 5;  // param, grad and three states

/// Where each given input lies, and the output that it becomes (the gradient becomes none).
struct Operands {
  struct Operand {
    size_t input, output;
    DType dtype;
    Dims in_strides, out_strides;
  };
  Dims shape;
  std::vector<Operand> list;

  explicit Operands(const KernelRequest& r) : shape(r.inputs[0].shape) {
    size_t out = 0;
    for (size_t i = 0; i < r.inputs.size(); ++i) {
      if (!r.inputs[i].given()) continue;
      Operand o{i, out, r.inputs[i].dtype, r.inputs[i].strides, {}};
      if (i != 1) o.out_strides = r.outputs[out++].strides;
      list.push_back(std::move(o));
    }
  }

  /// use(values): values[k] of operand k at one index, written back where there is an output.
  template <class Use>
  void each(const KernelArgs& args, Use&& use) const {
    int64_t index[kMaxDims] = {}, count = numel(shape);
    auto at = [&](const void* base, const Operand& o, const Dims& strides) {
      int64_t offset = 0;
      for (size_t a = 0; a < shape.size(); ++a) offset += index[a] * strides[a];
      return static_cast<char*>(const_cast<void*>(base)) + offset * dtype_size(o.dtype);
    };
    for (int64_t k = 0; k < count; ++k) {
      double values[kMost] = {};
      for (size_t i = 0; i < list.size(); ++i)
        find_convert(list[i].dtype, DType::F64)(at(args.inputs[list[i].input], list[i], list[i].in_strides), 1,
                                                &values[i], 1, 1);
      use(values);
      for (size_t i = 0; i < list.size(); ++i)
        if (list[i].input != 1)
          find_convert(DType::F64, list[i].dtype)(&values[i], 1,
                                                  at(args.outputs[list[i].output], list[i], list[i].out_strides), 1, 1);
      for (size_t a = shape.size(); a-- > 0;) {
        if (++index[a] < shape[a]) break;
        index[a] = 0;
      }
    }
  }
};

template <class F>
class ReferenceStep final : public Kernel {
 public:
  explicit ReferenceStep(const KernelRequest& r) : operands_(r) {}
  void run(const KernelArgs& args) const override {
    F formula(*args.attrs);
    operands_.each(args, [&](double* v) { formula(v[0], v[1], v[2], v[3], v[4]); });
  }

 private:
  Operands operands_;
};

/// Two rounds: the moments with both norms, then the parameter. The second reads what the first wrote.
class ReferenceLamb final : public Kernel {
 public:
  explicit ReferenceLamb(const KernelRequest& r) : first_(r), second_(r) {
    for (Operands::Operand& o : second_.list)
      if (o.input != 1) o.in_strides = o.out_strides;
  }
  void run(const KernelArgs& args) const override {
    LambFormula<double> formula(*args.attrs);
    double param = 0, direction = 0;
    first_.each(args, [&](double* v) {
      formula.moments(v[1], v[2], v[3]);
      double u = formula.direction(v[0], v[2], v[3]);
      param += v[0] * v[0];
      direction += u * u;
    });
    double rate = (*args.attrs)[Adam::lr].f64() * lamb_ratio(param, direction);
    const void* inputs[] = {args.outputs[0], args.inputs[1], args.outputs[1], args.outputs[2]};
    KernelArgs written = args;
    written.inputs = inputs;
    second_.each(written, [&](double* v) { v[0] -= rate * formula.direction(v[0], v[2], v[3]); });
  }

 private:
  Operands first_, second_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& r, std::string& why_not) {
  if (r.op == "lamb_step") return std::make_unique<ReferenceLamb>(r);
  std::unique_ptr<Kernel> made;
  bool known = with_formula<double>(r, [&]<class F>(F*) { made = std::make_unique<ReferenceStep<F>>(r); });
  if (!known) why_not = "not an optimiser step";
  return made;
}

const RegisterKernel sgd({"sgd_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adam({"adam_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel rmsprop({"rmsprop_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adagrad({"adagrad_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adadelta({"adadelta_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel adamax({"adamax_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel nadam({"nadam_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel radam({"radam_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel rprop({"rprop_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel lamb({"lamb_step", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace

}  // namespace hw
