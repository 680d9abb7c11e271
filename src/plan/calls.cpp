// Walking the calls of a plan; see the header.
#include "plan/calls.h"

#include <cstring>

namespace hw {

namespace {

std::string loop_problem(const PlanLoop& loop, FunctionRef<std::string(const PlanCall&)> judge) {
  for (const PlanStep& s : loop.body)
    for (bool last : {false, true}) {
      if (last && !loop.has_last) continue;
      std::vector<TensorSpec> in, out;
      const auto spec = [&](int32_t t) {
        const PlanTile& tile = loop.tiles[static_cast<size_t>(t)];
        return last ? tile.last_spec : tile.spec;
      };
      for (int32_t t : s.inputs) in.push_back(t < 0 ? TensorSpec{} : spec(t));
      for (int32_t t : s.outputs) out.push_back(spec(t));
      if (std::string problem = judge({s, in, out}); !problem.empty()) return problem;
    }
  return {};
}

/// Numbers as 8 bytes, lists behind their lengths: different calls give different bytes.
class CallBytes {
 public:
  void number(int64_t v) { bytes_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void real(double v) {
    int64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    number(bits);
  }
  void words(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    bytes_ += s;
  }
  void dims(const Dims& d) {
    number(static_cast<int64_t>(d.size()));
    for (size_t i = 0; i < d.size(); ++i) number(d[i]);
  }
  void spec(const TensorSpec& s) {
    number(static_cast<int64_t>(s.dtype));
    number(s.wrapped);
    dims(s.shape);
    dims(s.strides);
  }
  void specs(std::span<const TensorSpec> list) {
    number(static_cast<int64_t>(list.size()));
    for (const TensorSpec& s : list) spec(s);
  }
  void attr(const AttrValue& a) {
    number(static_cast<int64_t>(a.kind()));
    switch (a.kind()) {
      case AttrValue::Kind::None: break;
      case AttrValue::Kind::Text: words(a.text()); break;
      case AttrValue::Kind::Ints: dims(a.ints()); break;
      case AttrValue::Kind::Floats:
        number(static_cast<int64_t>(a.floats().size()));
        for (double v : a.floats()) real(v);
        break;
      case AttrValue::Kind::DType: number(static_cast<int64_t>(a.dtype())); break;
      default: scalar(a.scalar());
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void scalar(const Scalar& s) {
    number(static_cast<int64_t>(s.kind()));
    number(s.kind() == Scalar::Kind::Int || s.kind() == Scalar::Kind::Bool ? s.i64() : 0);
    real(s.c128().real());
    real(s.c128().imag());
  }
  std::string bytes_;
};

}  // namespace

std::string first_problem(const Plan& plan, FunctionRef<std::string(const PlanCall&)> judge) {
  std::string problem;
  for (size_t i = 0; i < plan.bodies.size() && problem.empty(); ++i) problem = first_problem(plan.bodies[i], judge);
  for (size_t i = 0; i < plan.loops.size() && problem.empty(); ++i) problem = loop_problem(plan.loops[i], judge);
  for (size_t i = 0; i < plan.steps.size() && problem.empty(); ++i) {
    const PlanStep& s = plan.steps[i];
    if (s.loop >= 0 || !s.bodies.empty()) continue;
    std::vector<TensorSpec> in, out;
    for (int32_t t : s.inputs) in.push_back(t < 0 ? TensorSpec{} : plan.tensors[static_cast<size_t>(t)].spec);
    for (int32_t t : s.outputs) out.push_back(plan.tensors[static_cast<size_t>(t)].spec);
    problem = judge({s, in, out});
  }
  return problem;
}

Sha256 call_digest(const PlanCall& call) {
  CallBytes b;
  b.words(call.step.op);
  b.specs(call.inputs);
  b.specs(call.outputs);
  b.number(static_cast<int64_t>(call.step.attrs.size()));
  for (const AttrValue& a : call.step.attrs) b.attr(a);
  b.number(static_cast<int64_t>(call.step.bindings.size()));
  for (const AttrBinding& x : call.step.bindings) {
    b.number(x.attr);
    b.number(static_cast<int64_t>(x.kind));
    b.number(x.index);
  }
  b.number(static_cast<int64_t>(call.step.compute));
  return sha256(b.bytes().data(), b.bytes().size());
}

}  // namespace hw
