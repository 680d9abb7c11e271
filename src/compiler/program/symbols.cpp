// Finding the symbols in the numbers of a graph, and putting sizes in their place.
#include "compiler/program/symbols.h"

#include <cmath>

#include "base/error.h"
#include "compiler/check_graph.h"
#include "op/rules.h"

namespace hw {

// Primes: far from the sizes of models and from each other; the cube fits into 63 bits with room for a factor.
static constexpr int64_t kNumbers[kMostSymbols] = {200003, 251003, 311009};
static constexpr int64_t kMostOffset = 20000;

int64_t symbol_number(size_t i) { return kNumbers[i]; }

static int64_t product(uint32_t set, std::span<const int64_t> sizes) {
  int64_t p = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (set >> i & 1) p *= sizes[i];
  return p;
}

int64_t SizeFormula::at(std::span<const int64_t> sizes) const {
  return set ? factor * product(set, sizes) + offset : offset;
}

SizeFormula formula_of(int64_t number, size_t num_symbols) {
  SizeFormula best{0, 0, number};
  int64_t best_offset = kMostOffset + 1;
  for (uint32_t set = 1; set < (1u << num_symbols); ++set) {
    const int64_t p = product(set, {kNumbers, num_symbols});
    const int64_t factor = static_cast<int64_t>(std::llround(static_cast<double>(number) / static_cast<double>(p)));
    if (factor == 0) continue;
    const int64_t offset = number - factor * p;
    if (std::abs(offset) >= best_offset) continue;
    best = {set, factor, offset};
    best_offset = std::abs(offset);
  }
  return best;
}

namespace {

class Instance {
 public:
  Instance(const ProgramParts& parts, std::span<const int64_t> sizes) : parts_(parts), sizes_(sizes) {}

  ProgramParts run() {
    for (GraphSource& s : parts_.graph.sources) set_source(parts_.graph, s);
    for (NodeId id : parts_.graph.order) set_node(parts_.graph, id);
    for (Capture::Output& o : parts_.outputs) {
      o.shape = dims(o.shape);
      o.strides = dims(o.strides);
      o.offset = number(o.offset);
    }
    return std::move(parts_);
  }

 private:
  int64_t number(int64_t n) const { return formula_of(n, sizes_.size()).at(sizes_); }
  Dims dims(const Dims& from) const {
    Dims to = from;
    for (int64_t& n : to) n = number(n);
    return to;
  }

  /// A size as a float, or the reciprocal of one: what means and their gradients multiply by.
  double real(double v) const {
    if (!std::isfinite(v) || v == 0) return v;
    if (v == std::floor(v) && std::abs(v) < 9e15) return static_cast<double>(number(static_cast<int64_t>(v)));
    const double inverse = 1 / v;
    const double whole = std::round(inverse);
    if (std::abs(whole) < 9e15 && std::abs(inverse - whole) <= 1e-9 * std::abs(whole)) {
      const SizeFormula f = formula_of(static_cast<int64_t>(whole), sizes_.size());
      if (f.set && f.offset == 0) return 1 / static_cast<double>(f.at(sizes_));
    }
    return v;
  }

  Scalar scalar(const Scalar& s) const {
    if (s.kind() == Scalar::Kind::Int) return Scalar(number(s.i64()));
    if (s.kind() == Scalar::Kind::Float) return Scalar(real(s.f64()));
    return s;
  }

  AttrValue attr(const AttrValue& a) const {
    switch (a.kind()) {
      case AttrValue::Kind::Int: return AttrValue(number(a.i64()));
      case AttrValue::Kind::Ints: return AttrValue(dims(a.ints()));
      case AttrValue::Kind::Float: return AttrValue(real(a.f64()));
      case AttrValue::Kind::Scalar: return AttrValue(scalar(a.scalar()));
      default: return a;
    }
  }

  void set_source(Graph& graph, GraphSource& s) const {
    TensorSpec& spec = graph.values[static_cast<size_t>(s.value)].spec;
    if (s.kind == GraphSource::Kind::Input) {
      const bool contiguous = spec.contiguous();
      spec.shape = dims(spec.shape);
      spec.strides = contiguous ? contiguous_strides(spec.shape) : spec.strides;
    } else if (s.kind == GraphSource::Kind::Constant && s.tensor.numel() == 1) {
      const Scalar before = load_scalar(s.tensor.data(), s.tensor.dtype());
      const Scalar after = scalar(before);
      if (after == before) return;
      Tensor made = Tensor::scalar(after, s.tensor.dtype(), s.tensor->wrapped);
      s.tensor = made.alias(s.tensor.shape(), s.tensor.strides(), 0);
      s.tensor->wrapped = made->wrapped;
    }
  }

  /// The graphs of a branch or a loop: what comes in is as in the graph around them.
  void set_bodies(Graph& graph, Node& n) const {
    for (std::shared_ptr<const Graph>& inside : n.bodies) {
      auto body = std::make_shared<Graph>(*inside);
      for (size_t i = 0; i < body->sources.size(); ++i) {
        if (i < n.inputs.size())
          body->values[static_cast<size_t>(body->sources[i].value)].spec = graph.spec(n.inputs[i]);
        else
          set_source(*body, body->sources[i]);
      }
      for (NodeId id : body->order) set_node(*body, id);
      inside = std::move(body);
    }
    const Graph& last = *n.bodies.back();
    for (size_t i = 0; i < n.outputs.size(); ++i)
      graph.values[static_cast<size_t>(n.outputs[i])].spec = last.spec(last.results[i].value);
  }

  void set_node(Graph& graph, NodeId id) const {
    Node& n = graph.node(id);
    for (AttrValue& a : n.attrs) a = attr(a);
    if (!n.bodies.empty()) return set_bodies(graph, n);
    std::vector<TensorSpec> made = inferred_outputs(graph, n);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      TensorSpec& spec = graph.values[static_cast<size_t>(n.outputs[i])].spec;
      const Dims want = dims(spec.shape);
      check_runtime(made[i].shape == want, "hw.compile: ", n.op, " gives ", made[i].shape, " where ", want,
                    " was expected for these sizes");
      const bool dense = spec.contiguous() || spec.strides != dims(spec.strides) || spec.shape != want;
      spec.shape = want;
      if (find_op(n.op)->kind() == OpKind::View)
        spec.strides = made[i].strides;
      else if (dense)
        spec.strides = made[i].strides;  // a given output, laid out otherwise, stays as it is
    }
  }

  ProgramParts parts_;
  std::span<const int64_t> sizes_;
};

}  // namespace

ProgramParts instantiate(const ProgramParts& parts, std::span<const int64_t> sizes) {
  return Instance(parts, sizes).run();
}

}  // namespace hw
