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
  return false;
}

}  // namespace hw::optim
