// Checking a plan: plain arithmetic over all of its numbers, which may be anything.
#include "plan/check.h"

#include "base/error.h"
#include "plan/layout.h"

namespace hw {

int64_t extent_of(const TensorSpec& s) {
  bool empty = false;
  for (int64_t n : s.shape) empty = empty || n == 0;
  if (empty) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < s.shape.size(); ++i) {
    int64_t step;
    if (s.strides[i] < 0 || __builtin_mul_overflow(s.shape[i] - 1, s.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  }
  int64_t bytes;
  if (__builtin_add_overflow(last, int64_t{1}, &last) || __builtin_mul_overflow(last, dtype_size(s.dtype), &bytes))
    return -1;
  return bytes;
}

std::string spec_problem(const TensorSpec& s) {
  if (static_cast<int>(s.dtype) >= kNumDTypes)
    return text("a tensor has the dtype number ", int{static_cast<uint8_t>(s.dtype)});
  if (s.device.type > DeviceType::Null || s.device.index < 0) return "a tensor is on a device that there is not";
  if (static_cast<int64_t>(s.shape.size()) > kMaxDims) return text("a tensor has ", s.shape.size(), " axes");
  if (s.strides.size() != s.shape.size())
    return text("a tensor has ", s.shape.size(), " sizes, ", s.strides.size(), " strides");
  int64_t bytes = dtype_size(s.dtype);
  for (int64_t n : s.shape)  // an empty tensor may be large along its other axes
    if (n < 0 || (n > 0 && __builtin_mul_overflow(bytes, n, &bytes))) return text("a tensor has the shape ", s.shape);
  if (extent_of(s) < 0) return text("a tensor has the shape ", s.shape, " and the strides ", s.strides);
  return {};
}

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 48;  // of a buffer: sums of such stay far from overflow
constexpr size_t kMostLoops = 8;
constexpr size_t kFlagBytes = 64;  // where a loop's condition goes

bool fits(int64_t offset, int64_t bytes, int64_t room) {
  return offset >= 0 && bytes >= 0 && offset <= room && bytes <= room - offset;
}
template <class T>
bool inside(int64_t index, const std::vector<T>& list) {
  return index >= 0 && index < static_cast<int64_t>(list.size());
}

class Check {
 public:
  /// A plan inside another gets no draws and no numbers of the run.
  Check(const Plan& plan, bool nested) : p_(plan), nested_(nested) {}

  std::string run() {
    if (p_.version < 1 || p_.version > kPlanVersion) return text("its version is ", p_.version);
    if (p_.arena_bytes < 0 || p_.arena_bytes > kMostBytes || p_.arena_lower_bound < 0)
      return "the arena's size is no size";
    if (p_.num_draws < 0 || p_.num_host < 0 || (nested_ && (p_.num_draws || p_.num_host)))
      return text("it needs ", p_.num_draws, " draws and ", p_.num_host, " numbers");
    if (p_.origins.empty()) return "it has no origins";
    for (int64_t bytes : p_.outputs)
      if (bytes < 0 || bytes > kMostBytes) return text("an output of ", bytes, " bytes");
    std::string problem;
    auto all = [&](const auto& list, const char* what, auto check) {
      for (size_t i = 0; i < list.size() && problem.empty(); ++i)
        if (std::string found = check(list[i]); !found.empty()) problem = text(what, " ", i, ": ", found);
    };
    all(p_.sources, "source", [](const PlanSource& s) { return spec_problem(s.spec); });
    all(p_.constants, "constant", [](const Tensor& t) { return spec_problem(t.spec()); });
    all(p_.buffers, "buffer", [this](const PlanBuffer& b) { return buffer(b); });
    all(p_.tensors, "tensor", [this](const PlanTensor& t) { return tensor(t); });
    all(p_.bodies, "body", [](const Plan& b) { return Check(b, true).run(); });
    all(p_.steps, "step", [this](const PlanStep& s) { return step(s); });
    all(p_.results, "result", [this](int32_t r) { return result(r); });
    return problem;
  }

 private:
  std::string buffer(const PlanBuffer& b) const {
    int64_t room = 0;
    switch (b.kind) {
      case PlanBuffer::Kind::Arena: room = p_.arena_bytes; break;
      case PlanBuffer::Kind::Source:
        if (!inside(b.index, p_.sources)) return text("there is no source ", b.index);
        room = extent_of(p_.sources[static_cast<size_t>(b.index)].spec);
        break;
      case PlanBuffer::Kind::Constant:
        if (!inside(b.index, p_.constants)) return text("there is no constant ", b.index);
        room = extent_of(p_.constants[static_cast<size_t>(b.index)].spec());
        break;
      case PlanBuffer::Kind::Output:
        if (!inside(b.index, p_.outputs)) return text("there is no output ", b.index);
        room = p_.outputs[static_cast<size_t>(b.index)];
        break;
      default: return text("its kind is ", static_cast<int>(b.kind));
    }
    if (b.kind != PlanBuffer::Kind::Arena && b.offset != 0) return "only what is in the arena has an offset";
    return fits(b.offset, b.bytes, room) ? std::string() : text(b.bytes, " bytes at ", b.offset, " of ", room);
  }

  std::string tensor(const PlanTensor& t) const {
    if (std::string problem = spec_problem(t.spec); !problem.empty()) return problem;
    if (!inside(t.buffer, p_.buffers)) return text("there is no buffer ", t.buffer);
    const PlanBuffer& b = p_.buffers[static_cast<size_t>(t.buffer)];
    if (!fits(t.offset, extent_of(t.spec), b.bytes)) return text(t.spec, " at byte ", t.offset, " of ", b.bytes);
    if ((b.offset + t.offset) % dtype_size(t.spec.dtype)) return text(t.spec, " is not aligned");
    return {};
  }

  std::string result(int32_t r) const {
    if (!inside(r, p_.tensors)) return text("there is no tensor ", r);
    const PlanBuffer& b = p_.buffers[static_cast<size_t>(p_.tensors[static_cast<size_t>(r)].buffer)];
    return b.kind == PlanBuffer::Kind::Output ? std::string() : "it is in no output";
  }

  /// What holds for a kernel call wherever it stands. `operands`: how many there are to choose from.
  std::string call(const PlanStep& s, size_t operands) const {
    const auto there = [&](int32_t t) { return t >= 0 && static_cast<size_t>(t) < operands; };
    if (s.outputs.empty()) return "it has no outputs";
    for (int32_t t : s.inputs)
      if (t != -1 && !there(t)) return text("there is no operand ", t);
    for (int32_t t : s.outputs)
      if (!there(t)) return text("there is no operand ", t);
    if (s.compute != DType::None && static_cast<int>(s.compute) >= kNumDTypes) return "it computes in an unknown dtype";
    for (const AttrBinding& b : s.bindings) {
      if (!inside(b.attr, s.attrs)) return text("it binds an attribute ", b.attr, " that it does not have");
      if (b.kind > AttrBinding::Kind::Host) return "it binds to something unknown";
      const int32_t most = b.kind == AttrBinding::Kind::Draw ? p_.num_draws : p_.num_host;
      if (b.kind != AttrBinding::Kind::Seed && (b.index < 0 || b.index >= most))
        return text("it binds to number ", b.index, " of ", most);
    }
    return {};
  }

  std::string step(const PlanStep& s) const {
    if (std::string problem = call(s, p_.tensors.size()); !problem.empty()) return text(s.op, ": ", problem);
    if (!inside(s.origin, p_.origins)) return text(s.op, ": there is no origin ", s.origin);
    if (s.loop != -1 && !inside(s.loop, p_.loops)) return text(s.op, ": there is no loop ", s.loop);
    if (s.loop >= 0 && !s.bodies.empty()) return text(s.op, ": it has a loop and bodies");
    if (s.scratch_bytes < 0 || s.scratch_offset < 0 || s.scratch_offset % 64 != 0 || s.scratch_bytes > p_.arena_bytes ||
        s.scratch_offset > p_.arena_bytes - s.scratch_bytes)
      return text(s.op, ": its scratch of ", s.scratch_bytes, " bytes at ", s.scratch_offset, " leaves the arena");
    std::string problem;
    if (s.loop >= 0) problem = loop(s, p_.loops[static_cast<size_t>(s.loop)]);
    if (!s.bodies.empty()) problem = control(s);
    return problem.empty() ? problem : text(s.op, ": ", problem);
  }

  int64_t extent(int32_t t) const { return extent_of(p_.tensors[static_cast<size_t>(t)].spec); }

  std::string loop(const PlanStep& s, const PlanLoop& l) const {
    if (l.counts.empty() || l.counts.size() > kMostLoops) return text("there are ", l.counts.size(), " loops");
    int64_t pieces = 1;
    for (int64_t n : l.counts)
      if (n < 0 || __builtin_mul_overflow(pieces, std::max<int64_t>(n, 1), &pieces) || pieces > kMostBytes)
        return text("the loops run ", l.counts, " times");
    if (l.num_inputs != s.inputs.size())
      return text("the loop has ", l.num_inputs, " inputs, the call ", s.inputs.size());
    if (l.scratch_bytes < 0 || l.scratch_bytes > kMostBytes) return "the scratch memory's size is no size";
    for (size_t i = 0; i < l.tiles.size(); ++i)
      if (std::string problem = tile(s, l, l.tiles[i]); !problem.empty()) return text("tile ", i, ": ", problem);
    for (size_t i = 0; i < l.body.size(); ++i) {
      const PlanStep& b = l.body[i];
      std::string problem = call(b, l.tiles.size());
      if (problem.empty() && (b.loop != -1 || !b.bodies.empty() || !b.bindings.empty() || b.origin < 0))
        problem = "it is no plain kernel call";
      if (!problem.empty()) return text("call ", i, " of the loop, ", b.op, ": ", problem);
    }
    return {};
  }

  std::string tile(const PlanStep& s, const PlanLoop& l, const PlanTile& t) const {
    for (const TensorSpec* spec : {&t.spec, &t.last_spec})
      if (std::string problem = spec_problem(*spec); !problem.empty()) return problem;
    if (t.spec.dtype != t.last_spec.dtype || t.spec.shape.size() != t.last_spec.shape.size())
      return "its last piece is of another kind";
    for (size_t i = 0; i < t.spec.shape.size(); ++i)
      if (t.last_spec.shape[i] > t.spec.shape[i]) return "its last piece is larger than the others";
    if (t.steps.size() != l.counts.size())
      return text("it has ", t.steps.size(), " steps in ", l.counts.size(), " loops");
    const int64_t size = dtype_size(t.spec.dtype), full = extent_of(t.spec),
                  last = l.has_last ? extent_of(t.last_spec) : full;
    if (t.operand < 0) {
      if (t.operand != -1 || t.offset % size) return "it is nowhere";
      return fits(t.offset, std::max(full, last), l.scratch_bytes) ? std::string() : "it is not in the scratch memory";
    }
    const size_t operand = static_cast<size_t>(t.operand);
    if (operand >= s.inputs.size() + s.outputs.size()) return text("there is no operand ", operand);
    const int32_t tensor = operand < s.inputs.size() ? s.inputs[operand] : s.outputs[operand - s.inputs.size()];
    if (tensor < 0) return text("operand ", operand, " is not given");
    int64_t before = 0, step = 0;  // from the operand's start to the last piece; the innermost loop's part of it
    for (size_t j = 0; j < t.steps.size(); ++j) {
      if (t.steps[j] < 0 || t.steps[j] % size ||
          __builtin_mul_overflow(t.steps[j], std::max<int64_t>(l.counts[j] - 1, 0), &step) ||
          __builtin_add_overflow(before, step, &before))
        return text("it moves by ", t.steps[j], " bytes");
    }
    const int64_t inner = l.counts.back() > 1 ? t.steps.back() : 0;
    const bool whole =
        fits(before, last, extent(tensor)) && (l.counts.back() < 2 || fits(before - inner, full, extent(tensor)));
    return whole ? std::string() : text("it leaves operand ", operand);
  }

  /// Whether a plan inside may be given these tensors: source i has the bytes that it reads.
  std::string body(const Plan& b, const std::vector<int64_t>& given, const std::vector<int64_t>& outputs) const {
    if (b.sources.size() > given.size())
      return text("a body takes ", b.sources.size(), " values, it is given ", given.size());
    for (size_t i = 0; i < b.sources.size(); ++i)
      if (extent_of(b.sources[i].spec) > given[i])
        return text("a body reads ", extent_of(b.sources[i].spec), " bytes of input ", i, ", which has ", given[i]);
    if (b.outputs.size() != outputs.size())
      return text("a body gives ", b.outputs.size(), " values, the call ", outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (b.outputs[i] > outputs[i])
        return text("output ", i, " of a body has ", b.outputs[i], " bytes, there is room for ", outputs[i]);
    return {};
  }

  /// See chain/control.cpp for what it does with these.
  std::string control(const PlanStep& s) const {
    if (s.bodies.size() != 2) return text("it has ", s.bodies.size(), " bodies");
    for (int32_t b : s.bodies)
      if (!inside(b, p_.bodies)) return text("there is no body ", b);
    const Plan &first = p_.bodies[static_cast<size_t>(s.bodies[0])],
               &second = p_.bodies[static_cast<size_t>(s.bodies[1])];
    std::vector<int64_t> given, made;
    for (int32_t t : s.inputs) given.push_back(t < 0 ? 0 : extent(t));
    for (int32_t t : s.outputs) made.push_back(extent(t));
    if (s.op == "_cond") {
      if (given.empty() || given[0] < 1) return "it has no condition";
      const std::string problem = body(first, given, made);
      return problem.empty() ? body(second, given, made) : problem;
    }
    if (s.op != "_while") return "it runs no bodies";
    if (made.size() > given.size()) return "it gives more than it carries";
    if (second.outputs.size() != made.size())
      return text("the body gives ", second.outputs.size(), " values, the call ", made.size());
    for (size_t i = 0; i < made.size(); ++i) {  // outputs are copied whole; from the second turn on they are the inputs
      if (second.outputs[i] > std::min(made[i], given[i]))
        return text("value ", i, " has ", second.outputs[i], " bytes, the call ", made[i]);
      given[i] = second.outputs[i];
    }
    const std::string problem = body(first, given, {static_cast<int64_t>(kFlagBytes)});
    return problem.empty() ? body(second, given, made) : problem;
  }

  const Plan& p_;
  bool nested_;
};

}  // namespace

std::string plan_problem(const Plan& plan) { return Check(plan, false).run(); }

}  // namespace hw
