// Random numbers, one element at a time.
#include <algorithm>
#include <limits>

#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert_value.h"
#include "kernels/loops/each.h"
#include "kernels/random/request.h"

namespace hw {

namespace {

/// Fills output 0 with f(draw, i) as a double, or with f32 precision where that is the op's definition.
using Number = double (*)(const Draw& draw, int64_t i, const double* p);

class Numbers final : public Kernel {
 public:
  Numbers(const TensorSpec& y, Number narrow, Number wide, std::vector<double> parameters)
      : y_(y),
        strides_(strides_of(y)),
        number_(y.dtype == DType::F64 ? wide : narrow),
        parameters_(std::move(parameters)) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      parallel_for(y_.numel(), 4096, [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        each<1>(
            y_.shape, {strides_}, [&](int64_t at) { y[at] = convert_value<T>(number_(draw, i++, parameters_.data())); },
            begin, end);
      });
    });
  }

 private:
  TensorSpec y_;
  Dims strides_;
  Number number_;
  std::vector<double> parameters_;
};

template <Number kNarrow, Number kWide = kNarrow>
std::unique_ptr<Kernel> prepare_numbers(const KernelRequest& r, std::string&) {
  std::vector<double> p;
  for (const AttrValue& a : r.attrs)
    if (a.kind() == AttrValue::Kind::Float) p.push_back(a.f64());
  return std::make_unique<Numbers>(r.outputs[0], kNarrow, kWide, std::move(p));
}

double unit32(const Draw& d, int64_t i, const double*) { return d.unit_f32(i); }
double unit64(const Draw& d, int64_t i, const double*) { return d.unit_f64(i); }
double normal32(const Draw& d, int64_t i, const double*) { return d.normal_f32(i); }
double normal64(const Draw& d, int64_t i, const double*) { return d.normal_f64(i); }
double uniform32(const Draw& d, int64_t i, const double* p) {
  const float low = static_cast<float>(p[0]), width = static_cast<float>(p[1]) - low;
  return low + width * d.unit_f32(i);
}
double uniform64(const Draw& d, int64_t i, const double* p) { return p[0] + (p[1] - p[0]) * d.unit_f64(i); }
double scaled_normal32(const Draw& d, int64_t i, const double* p) {
  return static_cast<float>(p[0]) + static_cast<float>(p[1]) * d.normal_f32(i);
}
double scaled_normal64(const Draw& d, int64_t i, const double* p) { return p[0] + p[1] * d.normal_f64(i); }
double log_normal(const Draw& d, int64_t i, const double* p) { return std::exp(p[0] + p[1] * d.normal_f64(i)); }
double exponential(const Draw& d, int64_t i, const double* p) { return -std::log(d.positive_f64(i)) / p[0]; }
double cauchy(const Draw& d, int64_t i, const double* p) {
  return p[0] + p[1] * std::tan(std::numbers::pi * (d.unit_f64(i) - 0.5));
}
double geometric(const Draw& d, int64_t i, const double* p) {
  return std::max(1.0, std::ceil(std::log(d.positive_f64(i)) / std::log1p(-p[0])));
}
double bernoulli(const Draw& d, int64_t i, const double* p) { return d.unit_f32(i) < p[0] ? 1 : 0; }

/// Integers from `low`, `range` of them (0: all 2^64).
class Integers final : public Kernel {
 public:
  Integers(const TensorSpec& y, int64_t low, uint64_t range) : y_(y), low_(low), range_(range) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      parallel_for(y_.numel(), 4096, [&](int64_t begin, int64_t end) {
        int64_t i = begin;
        each<1>(
            y_.shape, {strides_of(y_)},
            [&](int64_t at) {
              const uint64_t offset = range_ ? draw.below(i, range_) : draw.wide(i);
              ++i;
              y[at] = convert_value<T>(static_cast<int64_t>(static_cast<uint64_t>(low_) + offset));
            },
            begin, end);
      });
    });
  }

 private:
  TensorSpec y_;
  int64_t low_;
  uint64_t range_;
};

std::unique_ptr<Kernel> prepare_randint(const KernelRequest& r, std::string&) {
  const int64_t low = r.attrs[0].i64(), high = r.attrs[1].i64();
  return std::make_unique<Integers>(r.outputs[0], low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

/// How many integers, from 0, a dtype holds exactly.
uint64_t whole_range(DType d) {
  switch (d) {
    case DType::Bool: return 2;
    case DType::U8: return 256;
    case DType::I8: return 128;
    case DType::I16: return 32768;
    case DType::I32: return uint64_t{1} << 31;
    case DType::I64: return uint64_t{1} << 63;
    case DType::F16: return (1 << 11) + 1;
    case DType::BF16: return (1 << 8) + 1;
    case DType::F32: return (1 << 24) + 1;
    default: return (uint64_t{1} << 53) + 1;
  }
}

/// random_(x; from, to)
std::unique_ptr<Kernel> prepare_random(const KernelRequest& r, std::string&) {
  if (r.attrs[0].none() && r.attrs[1].none())
    return std::make_unique<Integers>(r.outputs[0], 0, whole_range(r.outputs[0].dtype));
  const int64_t low = r.attrs[1].none() ? 0 : r.attrs[0].none() ? 0 : r.attrs[0].i64();
  const int64_t high = r.attrs[1].none() ? r.attrs[0].i64() : r.attrs[1].i64();
  return std::make_unique<Integers>(r.outputs[0], low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

/// _bernoulli(p)
class Bernoulli final : public Kernel {
 public:
  explicit Bernoulli(const KernelRequest& r)
      : y_(r.outputs[0]),
        p_dtype_(r.inputs[0].dtype),
        p_(broadcast_strides(r.inputs[0].shape, strides_of(r.inputs[0]), r.outputs[0].shape)) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    visit_floating(p_dtype_, [&]<class P>(Type<P>) {
      const P* p = static_cast<const P*>(args.inputs[0]);
      int64_t i = 0;
      bool bad = false;
      visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
        T* y = static_cast<T*>(args.outputs[0]);
        each<2>(y_.shape, {p_, strides_of(y_)}, [&](int64_t from, int64_t to) {
          const double chance = static_cast<double>(p[from]);
          bad |= !(chance >= 0 && chance <= 1);
          y[to] = convert_value<T>(draw.unit_f32(i++) < chance);
        });
      });
      if (bad) args.status->report("RuntimeError: a probability is not in [0, 1]");
    });
  }

 private:
  TensorSpec y_;
  DType p_dtype_;
  Dims p_;
};

/// Fisher and Yates.
class Permutation final : public Kernel {
 public:
  explicit Permutation(const KernelRequest& r) : y_(r.outputs[0]) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(y_.numel()) * 8; }
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    int64_t* order = static_cast<int64_t*>(args.scratch);
    const int64_t n = y_.numel();
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[draw.below(i, static_cast<uint64_t>(i) + 1)]);
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      int64_t i = 0;
      each<1>(y_.shape, {strides_of(y_)}, [&](int64_t at) { y[at] = convert_value<T>(order[i++]); });
    });
  }

 private:
  TensorSpec y_;
};

std::unique_ptr<Kernel> prepare_bernoulli(const KernelRequest& r, std::string&) {
  return std::make_unique<Bernoulli>(r);
}
std::unique_ptr<Kernel> prepare_permutation(const KernelRequest& r, std::string&) {
  return std::make_unique<Permutation>(r);
}

struct RegisterAll {
  RegisterAll() {
    auto add = [](std::string_view op, PrepareFn f) {
      RegisterKernel({op, "reference", DeviceType::CPU, kReferencePriority, f});
    };
    add("rand", &prepare_numbers<unit32, unit64>);
    add("randn", &prepare_numbers<normal32, normal64>);
    add("uniform_", &prepare_numbers<uniform32, uniform64>);
    add("normal_", &prepare_numbers<scaled_normal32, scaled_normal64>);
    add("log_normal_", &prepare_numbers<log_normal>);
    add("exponential_", &prepare_numbers<exponential>);
    add("cauchy_", &prepare_numbers<cauchy>);
    add("geometric_", &prepare_numbers<geometric>);
    add("bernoulli_", &prepare_numbers<bernoulli>);
    add("_randint", &prepare_randint);
    add("random_", &prepare_random);
    add("_bernoulli", &prepare_bernoulli);
    add("randperm", &prepare_permutation);
  }
};
const RegisterAll registered;

}  // namespace
}  // namespace hw
