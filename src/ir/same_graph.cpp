// Comparing graphs, attributes and constants.
#include "ir/same_graph.h"

#include <bit>
#include <cstring>

#include "base/text.h"
#include "ir/elements.h"

namespace hw {

static bool same_double(double a, double b) {
  return (a != a && b != b) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

static bool same_scalar(const Scalar& a, const Scalar& b) {
  return a.kind() == b.kind() && a.i64() == b.i64() && same_double(a.f64(), b.f64()) &&
         same_double(a.c128().imag(), b.c128().imag());
}

bool same_attr(const AttrValue& a, const AttrValue& b) {
  using K = AttrValue::Kind;
  if (a.kind() != b.kind()) return false;
  if (a.kind() == K::Float || a.kind() == K::Scalar) return same_scalar(a.scalar(), b.scalar());
  if (a.kind() != K::Floats) return a == b;
  if (a.floats().size() != b.floats().size()) return false;
  for (size_t i = 0; i < a.floats().size(); ++i)
    if (!same_double(a.floats()[i], b.floats()[i])) return false;
  return true;
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_attr(a[i], b[i])) return false;
  return true;
}

bool same_spec(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.wrapped == b.wrapped && a.device == b.device && a.shape == b.shape &&
         a.strides == b.strides;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  std::vector<const void*> left;
  left.reserve(static_cast<size_t>(a.numel()));
  for_each_element(a, [&](const void* p) { left.push_back(p); });
  size_t i = 0;
  bool same = true;
  const size_t size = static_cast<size_t>(dtype_size(a.dtype()));
  for_each_element(b, [&](const void* p) {
    const void* q = left[i++];
    if (same && std::memcmp(p, q, size) != 0)
      same = is_inexact(a.dtype()) && same_scalar(load_scalar(p, a.dtype()), load_scalar(q, a.dtype()));
  });
  return same;
}

namespace {

std::string spec_text(const TensorSpec& s) { return text(s, " strides ", s.strides, s.wrapped ? " number" : ""); }

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b), to_(a.values.size(), kNone) {}

  /// The first difference, or nothing.
  std::string difference() {
    if (a_.name != b_.name) return text("names: ", a_.name, " and ", b_.name);
    if (a_.num_draws != b_.num_draws || a_.num_host != b_.num_host)
      return text("draws and host numbers: ", a_.num_draws, ", ", a_.num_host, " and ", b_.num_draws, ", ",
                  b_.num_host);
    std::string why = sources();
    if (why.empty()) why = nodes();
    return why.empty() ? results() : why;
  }

 private:
  std::string sources() {
    if (a_.sources.size() != b_.sources.size()) return text("sources: ", a_.sources.size(), " and ", b_.sources.size());
    for (size_t i = 0; i < a_.sources.size(); ++i) {
      const GraphSource &x = a_.sources[i], &y = b_.sources[i];
      if (x.kind != y.kind || x.name != y.name)
        return text("source ", i, ": kind or name (", x.name, ", ", y.name, ")");
      if (std::string why = pair(x.value, y.value); !why.empty()) return text("source ", i, ": ", why);
      if (!same_elements(x.tensor, y.tensor)) return text("source ", i, ": the constants' data");
    }
    return {};
  }

  std::string nodes() {
    if (a_.order.size() != b_.order.size()) return text("nodes: ", a_.order.size(), " and ", b_.order.size());
    for (size_t i = 0; i < a_.order.size(); ++i)
      if (std::string why = node(a_.node(a_.order[i]), b_.node(b_.order[i])); !why.empty())
        return text("node ", i, ", ", a_.node(a_.order[i]).op, ": ", why);
    return {};
  }

  std::string node(const Node& x, const Node& y) {
    if (x.op != y.op) return text("the other is ", y.op);
    if (x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size())
      return "numbers of inputs or outputs";
    for (size_t i = 0; i < x.inputs.size(); ++i)
      if (!matches(x.inputs[i], y.inputs[i])) return text("input ", i);
    if (x.attrs.size() != y.attrs.size()) return text(x.attrs.size(), " attributes and ", y.attrs.size());
    for (size_t i = 0; i < x.attrs.size(); ++i)
      if (!same_attr(x.attrs[i], y.attrs[i])) return text("attribute ", i, ": ", x.attrs[i], " and ", y.attrs[i]);
    if (!same_bindings(x.bindings, y.bindings)) return "bindings";
    if (x.bodies.size() != y.bodies.size()) return "numbers of bodies";
    for (size_t i = 0; i < x.bodies.size(); ++i)
      if (std::string why = Comparison(*x.bodies[i], *y.bodies[i]).difference(); !why.empty())
        return text("body ", i, ": ", why);
    if (origin(a_, x) != origin(b_, y)) return text("origins '", origin(a_, x), "' and '", origin(b_, y), "'");
    for (size_t i = 0; i < x.outputs.size(); ++i)
      if (std::string why = pair(x.outputs[i], y.outputs[i]); !why.empty()) return text("output ", i, ": ", why);
    return {};
  }

  std::string results() {
    if (a_.results.size() != b_.results.size()) return text("results: ", a_.results.size(), " and ", b_.results.size());
    for (size_t i = 0; i < a_.results.size(); ++i) {
      const GraphResult &x = a_.results[i], &y = b_.results[i];
      if (x.kind != y.kind || x.source != y.source || !matches(x.value, y.value)) return text("result ", i);
    }
    return {};
  }

  static bool same_bindings(const std::vector<AttrBinding>& x, const std::vector<AttrBinding>& y) {
    if (x.size() != y.size()) return false;
    for (const AttrBinding& b : x) {
      bool found = false;
      for (const AttrBinding& c : y) found = found || b == c;
      if (!found) return false;
    }
    return true;
  }

  static std::string_view origin(const Graph& g, const Node& n) { return g.origins.at(static_cast<size_t>(n.origin)); }
  bool matches(ValueId x, ValueId y) const { return x == kNone ? y == kNone : to_[static_cast<size_t>(x)] == y; }

  std::string pair(ValueId x, ValueId y) {
    to_[static_cast<size_t>(x)] = y;
    const TensorSpec &s = a_.spec(x), &t = b_.spec(y);
    return same_spec(s, t) ? std::string() : text(spec_text(s), " and ", spec_text(t));
  }

  const Graph &a_, &b_;
  std::vector<ValueId> to_;
};

}  // namespace

bool same_graph(const Graph& a, const Graph& b, std::string* why) {
  std::string difference = Comparison(a, b).difference();
  if (why) *why = difference;
  return difference.empty();
}

}  // namespace hw
