// The optimiser steps as scalar expressions: the reference and the SIMD kernels are both made from them.
#pragma once

#include <cmath>
#include <string_view>

#include "core/attr.h"
#include "kernels/kernel.h"

namespace hw::optim {

// Positions of the attributes, as declared in ops/optim/.
struct Sgd {
  enum { lr, momentum, dampening, weight_decay, nesterov, maximize, first };
};
struct Adam {  // and Lamb, as far as `step`
  enum { lr, beta1, beta2, eps, weight_decay, step, decoupled, maximize, lamb_maximize = decoupled };
};
struct Rmsprop {
  enum { lr, alpha, eps, weight_decay, momentum, maximize };
};
struct Adagrad {
  enum { lr, lr_decay, eps, weight_decay, step, maximize };
};
struct Adadelta {
  enum { lr, rho, eps, weight_decay, maximize };
};
struct Adamax {
  enum { lr, beta1, beta2, eps, weight_decay, step, maximize };
};
struct Nadam {  // as Adam, and
  enum { momentum_decay = Adam::maximize + 1, mu_product };
};
struct Rprop {
  enum { eta_down, eta_up, least, most, maximize };
};

template <class T>
inline T number(const Attrs& attrs, int at) {
  return static_cast<T>(attrs[static_cast<size_t>(at)].f64());
}
template <class T>
inline T sign(const Attrs& attrs, int maximize) {
  return attrs[static_cast<size_t>(maximize)].truth() ? T(-1) : T(1);
}

/// The gradient with its sign, and weight decay if there is any: without, what is infinite in a parameter stays that.
template <class T>
inline T pulled(T sign, T g, T decay, T p) {
  return decay == T(0) ? sign * g : sign * g + decay * p;
}

// Each formula rewrites the parameter p and its states a, b, c, given the gradient g. kStates says how many it uses.

template <class T, bool kMomentum, bool kNesterov>
struct SgdFormula {
  static constexpr int kStates = kMomentum;
  T lr, momentum, fresh, decay, sign_;
  explicit SgdFormula(const Attrs& attrs)
      : lr(number<T>(attrs, Sgd::lr)),
        momentum(number<T>(attrs, Sgd::momentum)),
        fresh(static_cast<T>(1 - attrs[Sgd::dampening].f64())),
        decay(number<T>(attrs, Sgd::weight_decay)),
        sign_(sign<T>(attrs, Sgd::maximize)) {
    first = attrs[Sgd::first].truth();
    keep = first ? T(0) : momentum;
    if (first) fresh = T(1);
  }
  bool first;
  T keep;
  void operator()(T& p, T g, T& a, T&, T&) const {
    g = pulled(sign_, g, decay, p);
    if constexpr (kMomentum) {
      a = keep * a + fresh * g;
      g = kNesterov ? g + momentum * a : a;
    }
    p -= lr * g;
  }
};

template <class T, bool kMax>
struct AdamFormula {
  static constexpr int kStates = kMax ? 3 : 2;
  T mean, beta2, square, eps, decay, shrink = 1, sign_, step_size, unroot;
  explicit AdamFormula(const Attrs& attrs)
      : mean(static_cast<T>(1 - attrs[Adam::beta1].f64())),
        beta2(number<T>(attrs, Adam::beta2)),
        square(static_cast<T>(1 - attrs[Adam::beta2].f64())),
        eps(number<T>(attrs, Adam::eps)),
        decay(number<T>(attrs, Adam::weight_decay)),
        sign_(sign<T>(attrs, Adam::maximize)) {
    double lr = attrs[Adam::lr].f64(), step = static_cast<double>(attrs[Adam::step].i64());
    if (attrs[Adam::decoupled].truth()) {
      shrink = static_cast<T>(1 - lr * attrs[Adam::weight_decay].f64());
      decay = 0;
    }
    step_size = static_cast<T>(lr / (1 - std::pow(attrs[Adam::beta1].f64(), step)));
    unroot = static_cast<T>(1 / std::sqrt(1 - std::pow(attrs[Adam::beta2].f64(), step)));
  }
  void operator()(T& p, T g, T& a, T& b, T& c) const {
    g = pulled(sign_, g, decay, p);
    a += mean * (g - a);
    b = beta2 * b + square * g * g;
    T v = b;
    if constexpr (kMax) {
      c = c > b ? c : b;
      v = c;
    }
    p = p * shrink - step_size * (a / (std::sqrt(v) * unroot + eps));
  }
};

template <class T, bool kMomentum, bool kCentered>
struct RmspropFormula {
  static constexpr int kStates = 1 + kMomentum + kCentered;
  T lr, alpha, fresh, eps, decay, momentum, sign_;
  explicit RmspropFormula(const Attrs& attrs)
      : lr(number<T>(attrs, Rmsprop::lr)),
        alpha(number<T>(attrs, Rmsprop::alpha)),
        fresh(static_cast<T>(1 - attrs[Rmsprop::alpha].f64())),
        eps(number<T>(attrs, Rmsprop::eps)),
        decay(number<T>(attrs, Rmsprop::weight_decay)),
        momentum(number<T>(attrs, Rmsprop::momentum)),
        sign_(sign<T>(attrs, Rmsprop::maximize)) {}
  void operator()(T& p, T g, T& a, T& b, T& c) const {
    T& mean = kMomentum ? c : b;  // the states that are not used leave no gap
    g = pulled(sign_, g, decay, p);
    a = alpha * a + fresh * g * g;
    T v = a;
    if constexpr (kCentered) {
      mean += fresh * (g - mean);
      v = a - mean * mean;
    }
    T d = g / (std::sqrt(v) + eps);
    if constexpr (kMomentum) {
      b = momentum * b + d;
      d = b;
    }
    p -= lr * d;
  }
};

template <class T>
struct AdagradFormula {
  static constexpr int kStates = 1;
  T rate, eps, decay, sign_;
  explicit AdagradFormula(const Attrs& attrs)
      : eps(number<T>(attrs, Adagrad::eps)),
        decay(number<T>(attrs, Adagrad::weight_decay)),
        sign_(sign<T>(attrs, Adagrad::maximize)) {
    double late = static_cast<double>(attrs[Adagrad::step].i64() - 1) * attrs[Adagrad::lr_decay].f64();
    rate = static_cast<T>(attrs[Adagrad::lr].f64() / (1 + late));
  }
  void operator()(T& p, T g, T& a, T&, T&) const {
    g = pulled(sign_, g, decay, p);
    a += g * g;
    p -= rate * (g / (std::sqrt(a) + eps));
  }
};

template <class T>
struct AdadeltaFormula {
  static constexpr int kStates = 2;
  T lr, rho, fresh, eps, decay, sign_;
  explicit AdadeltaFormula(const Attrs& attrs)
      : lr(number<T>(attrs, Adadelta::lr)),
        rho(number<T>(attrs, Adadelta::rho)),
        fresh(static_cast<T>(1 - attrs[Adadelta::rho].f64())),
        eps(number<T>(attrs, Adadelta::eps)),
        decay(number<T>(attrs, Adadelta::weight_decay)),
        sign_(sign<T>(attrs, Adadelta::maximize)) {}
  void operator()(T& p, T g, T& a, T& b, T&) const {
    g = pulled(sign_, g, decay, p);
    a = rho * a + fresh * g * g;
    const T d = std::sqrt(b + eps) / std::sqrt(a + eps) * g;
    b = rho * b + fresh * d * d;
    p -= lr * d;
  }
};

template <class T>
struct AdamaxFormula {
  static constexpr int kStates = 2;
  T mean, beta2, eps, decay, sign_, rate;
  explicit AdamaxFormula(const Attrs& attrs)
      : mean(static_cast<T>(1 - attrs[Adamax::beta1].f64())),
        beta2(number<T>(attrs, Adamax::beta2)),
        eps(number<T>(attrs, Adamax::eps)),
        decay(number<T>(attrs, Adamax::weight_decay)),
        sign_(sign<T>(attrs, Adamax::maximize)) {
    const double step = static_cast<double>(attrs[Adamax::step].i64());
    rate = static_cast<T>(attrs[Adamax::lr].f64() / (1 - std::pow(attrs[Adamax::beta1].f64(), step)));
  }
  void operator()(T& p, T g, T& a, T& b, T&) const {
    g = pulled(sign_, g, decay, p);
    a += mean * (g - a);
    const T size = (g < T(0) ? -g : g) + eps;
    b = beta2 * b;
    b = size > b || size != size ? size : b;  // a NaN stays one
    p -= rate * (a / b);
  }
};

/// Adam's numbers, and what becomes of the parameter where decay is decoupled.
template <class T>
struct AdamNumbers {
  double lr, beta1, beta2, step;
  T mean, keep, square, eps, decay, shrink = 1, sign_;
  explicit AdamNumbers(const Attrs& attrs)
      : lr(attrs[Adam::lr].f64()),
        beta1(attrs[Adam::beta1].f64()),
        beta2(attrs[Adam::beta2].f64()),
        step(static_cast<double>(attrs[Adam::step].i64())),
        mean(static_cast<T>(1 - beta1)),
        keep(static_cast<T>(beta2)),
        square(static_cast<T>(1 - beta2)),
        eps(number<T>(attrs, Adam::eps)),
        decay(number<T>(attrs, Adam::weight_decay)),
        sign_(sign<T>(attrs, Adam::maximize)) {
    if (!attrs[Adam::decoupled].truth()) return;
    shrink = static_cast<T>(1 - lr * attrs[Adam::weight_decay].f64());
    decay = 0;
  }
  /// Both means after this step; the gradient that entered them.
  T moments(T p, T g, T& a, T& b) const {
    g = pulled(sign_, g, decay, p);
    a += mean * (g - a);
    b = keep * b + square * g * g;
    return g;
  }
};

template <class T>
struct NadamFormula : AdamNumbers<T> {
  static constexpr int kStates = 2;
  T unroot, of_gradient, of_mean;
  explicit NadamFormula(const Attrs& attrs) : AdamNumbers<T>(attrs) {
    const double decay = attrs[Nadam::momentum_decay].f64(), product = attrs[Nadam::mu_product].f64();
    auto momentum = [&](double n) { return this->beta1 * (1 - 0.5 * std::pow(0.96, n * decay)); };
    const double next = momentum(this->step + 1);
    unroot = static_cast<T>(1 / std::sqrt(1 - std::pow(this->beta2, this->step)));
    of_gradient = static_cast<T>(this->lr * (1 - momentum(this->step)) / (1 - product));
    of_mean = static_cast<T>(this->lr * next / (1 - product * next));
  }
  void operator()(T& p, T g, T& a, T& b, T&) const {
    g = this->moments(p, g, a, b);
    p = p * this->shrink - (of_gradient * g + of_mean * a) / (std::sqrt(b) * unroot + this->eps);
  }
};

/// `rectified`: the mean square is of enough steps to be divided by.
template <class T>
struct RadamFormula : AdamNumbers<T> {
  static constexpr int kStates = 2;
  bool rectified;
  T rate;
  explicit RadamFormula(const Attrs& attrs) : AdamNumbers<T>(attrs) {
    const double limit = 2 / (1 - this->beta2) - 1, power = std::pow(this->beta2, this->step);
    const double length = limit - 2 * this->step * power / (1 - power);
    double factor = this->lr / (1 - std::pow(this->beta1, this->step));
    rectified = length > 5;
    if (rectified)
      factor *= std::sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length) * (1 - power));
    rate = static_cast<T>(factor);
  }
  void operator()(T& p, T g, T& a, T& b, T&) const {
    this->moments(p, g, a, b);
    p = p * this->shrink - rate * (rectified ? a / (std::sqrt(b) + this->eps) : a);
  }
};

/// States: the gradient before, and the size of the step.
template <class T>
struct RpropFormula {
  static constexpr int kStates = 2;
  T down, up, least, most, sign_;
  explicit RpropFormula(const Attrs& attrs)
      : down(number<T>(attrs, Rprop::eta_down)),
        up(number<T>(attrs, Rprop::eta_up)),
        least(number<T>(attrs, Rprop::least)),
        most(number<T>(attrs, Rprop::most)),
        sign_(sign<T>(attrs, Rprop::maximize)) {}
  void operator()(T& p, T g, T& a, T& b, T&) const {
    g = sign_ * g;
    const T agreement = g * a;
    b *= agreement > T(0) ? up : agreement < T(0) ? down : T(1);
    b = b < least ? least : b;
    b = b > most ? most : b;
    g = agreement < T(0) ? T(0) : g;
    p -= g > T(0) ? b : g < T(0) ? -b : T(0);
    a = g;
  }
};

/// The states of LAMB; `direction` is u before the ratio.
template <class T>
struct LambFormula {
  T mean, beta2, square, eps, decay, sign_, unbias1, unbias2;
  explicit LambFormula(const Attrs& attrs)
      : mean(static_cast<T>(1 - attrs[Adam::beta1].f64())),
        beta2(number<T>(attrs, Adam::beta2)),
        square(static_cast<T>(1 - attrs[Adam::beta2].f64())),
        eps(number<T>(attrs, Adam::eps)),
        decay(number<T>(attrs, Adam::weight_decay)),
        sign_(sign<T>(attrs, Adam::lamb_maximize)) {
    double step = static_cast<double>(attrs[Adam::step].i64());
    unbias1 = static_cast<T>(1 / (1 - std::pow(attrs[Adam::beta1].f64(), step)));
    unbias2 = static_cast<T>(1 / (1 - std::pow(attrs[Adam::beta2].f64(), step)));
  }
  void moments(T g, T& a, T& b) const {
    g = sign_ * g;
    a += mean * (g - a);
    b = beta2 * b + square * g * g;
  }
  T direction(T p, T a, T b) const { return (a * unbias1) / (std::sqrt(b * unbias2) + eps) + decay * p; }
};

/// The ratio of LAMB, from the squares of both norms.
inline double lamb_ratio(double param, double direction) {
  return param > 0 && direction > 0 ? std::sqrt(param / direction) : 1.0;
}

/// Whether a step whose gradient is zero leaves parameter and states as they are, bit for bit: plain SGD and Adagrad that do not decay.
inline bool zero_changes_nothing(std::string_view op, bool momentum, const Attrs& attrs) {
  const double lr = attrs[0].f64();
  if (std::signbit(lr) || !std::isfinite(lr)) return false;
  if (op == "sgd_step") return !momentum && attrs[Sgd::weight_decay].f64() == 0 && !attrs[Sgd::maximize].truth();
  return op == "adagrad_step" && attrs[Adagrad::weight_decay].f64() == 0 && attrs[Adagrad::eps].f64() > 0 &&
         attrs[Adagrad::lr_decay].f64() >= 0 && !attrs[Adagrad::maximize].truth();
}

/// Calls use(type of formula) for the step op with the states that are given; false for an op that is no such step.
template <class T, class Use>
bool with_formula(const KernelRequest& r, Use&& use) {
  auto given = [&](size_t i) { return r.inputs[i].given(); };
  if (r.op == "sgd_step") {
    if (!given(2)) return use(static_cast<SgdFormula<T, false, false>*>(nullptr)), true;
    if (r.attrs[Sgd::nesterov].truth()) return use(static_cast<SgdFormula<T, true, true>*>(nullptr)), true;
    return use(static_cast<SgdFormula<T, true, false>*>(nullptr)), true;
  }
  if (r.op == "adam_step") {
    if (given(4)) return use(static_cast<AdamFormula<T, true>*>(nullptr)), true;
    return use(static_cast<AdamFormula<T, false>*>(nullptr)), true;
  }
  if (r.op == "rmsprop_step") {
    if (given(3) && given(4)) return use(static_cast<RmspropFormula<T, true, true>*>(nullptr)), true;
    if (given(3)) return use(static_cast<RmspropFormula<T, true, false>*>(nullptr)), true;
    if (given(4)) return use(static_cast<RmspropFormula<T, false, true>*>(nullptr)), true;
    return use(static_cast<RmspropFormula<T, false, false>*>(nullptr)), true;
  }
  if (r.op == "adagrad_step") return use(static_cast<AdagradFormula<T>*>(nullptr)), true;
  if (r.op == "adadelta_step") return use(static_cast<AdadeltaFormula<T>*>(nullptr)), true;
  if (r.op == "adamax_step") return use(static_cast<AdamaxFormula<T>*>(nullptr)), true;
  if (r.op == "nadam_step") return use(static_cast<NadamFormula<T>*>(nullptr)), true;
  if (r.op == "radam_step") return use(static_cast<RadamFormula<T>*>(nullptr)), true;
  if (r.op == "rprop_step") return use(static_cast<RpropFormula<T>*>(nullptr)), true;
  return false;
}

}  // namespace hw::optim
