// A plan written out as dicts and lists. Tensors are shown as text: "f32[64, 784]".
#include "bind/plan_data.h"

#include <string>

#include "base/text.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

std::string_view kind_name(PlanBuffer::Kind kind) {
  static constexpr std::string_view kNames[] = {"arena", "source", "constant", "output"};
  return kNames[static_cast<size_t>(kind)];
}

nb::str str(std::string_view s) { return nb::str(s.data(), s.size()); }

nb::list records(const PipelineResult& result) {
  nb::list list;
  for (const PassRecord& r : result.records) {
    nb::dict d;
    d["name"] = str(r.name);
    d["stage"] = str(stage_name(r.stage));
    d["off"] = r.off;
    d["changed"] = r.changed;
    d["nodes_before"] = r.nodes_before;
    d["nodes_after"] = r.nodes_after;
    d["nanoseconds"] = r.nanoseconds;
    list.append(d);
  }
  return list;
}

nb::list buffers(const Plan& plan) {
  nb::list list;
  for (const PlanBuffer& b : plan.buffers) {
    nb::dict d;
    d["kind"] = str(kind_name(b.kind));
    d["index"] = b.index;
    d["offset"] = b.offset;
    d["bytes"] = b.bytes;
    list.append(d);
  }
  return list;
}

nb::list tensors(const Plan& plan) {
  nb::list list;
  for (const PlanTensor& t : plan.tensors) {
    nb::dict d;
    d["buffer"] = t.buffer;
    d["offset"] = t.offset;
    d["spec"] = str(text(t.spec));
    list.append(d);
  }
  return list;
}

nb::list numbers(const std::vector<int32_t>& values) {
  nb::list list;
  for (int32_t v : values) list.append(v);
  return list;
}

nb::list graphs_of(const Plan& plan, const PlanStep& s);

/// What the plan alone says of a step.
nb::dict step_data(const Plan& plan, const PlanStep& s) {
  nb::list body;
  if (s.loop >= 0)
    for (const PlanStep& b : plan.loops[static_cast<size_t>(s.loop)].body) body.append(str(b.op));
  nb::dict d;
  d["op"] = str(s.op);
  d["origin"] = str(plan.origins[static_cast<size_t>(s.origin)]);
  d["body"] = body;
  d["graphs"] = graphs_of(plan, s);
  return d;
}

/// The branches of a cond, condition and body of a loop: their steps, each with the spec of its first output.
nb::list graphs_of(const Plan& plan, const PlanStep& s) {
  nb::list graphs;
  for (int32_t b : s.bodies) {
    const Plan& inside = plan.bodies[static_cast<size_t>(b)];
    nb::list list;
    for (const PlanStep& step : inside.steps) {
      nb::dict d = step_data(inside, step);
      d["spec"] = step.outputs.empty()
                      ? nb::object(str(""))
                      : nb::object(str(text(inside.tensors[static_cast<size_t>(step.outputs[0])].spec)));
      list.append(d);
    }
    graphs.append(list);
  }
  return graphs;
}

nb::list steps(const Chain& chain) {
  const Plan& plan = chain.plan();
  nb::list list;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& s = plan.steps[i];
    nb::dict d = step_data(plan, s);
    d["kernel"] = str(chain.kernel_name(i));
    d["note"] = str(chain.code_note(i));
    d["inputs"] = numbers(s.inputs);
    d["outputs"] = numbers(s.outputs);
    d["scratch"] = nb::make_tuple(s.scratch_offset, s.scratch_bytes);
    list.append(d);
  }
  return list;
}

nb::list sources(const Plan& plan) {
  nb::list list;
  for (const PlanSource& s : plan.sources) {
    nb::dict d;
    d["name"] = str(s.name);
    d["spec"] = str(text(s.spec));
    d["bytes"] = s.spec.numel() * dtype_size(s.spec.dtype);
    d["state"] = s.state;
    d["written"] = s.written;
    list.append(d);
  }
  return list;
}

}  // namespace

nb::dict plan_data(const Program& program) {
  const Plan& plan = program.plan();
  nb::dict d;
  d["name"] = str(plan.name);
  d["from_cache"] = program.from_cache();
  d["passes"] = records(program.passes());
  d["arena_bytes"] = plan.arena_bytes;
  d["arena_lower_bound"] = plan.arena_lower_bound;
  d["memory_bytes"] = program.chain().memory_bytes();
  d["buffers"] = buffers(plan);
  d["tensors"] = tensors(plan);
  d["steps"] = steps(program.chain());
  d["sources"] = sources(plan);
  nb::list constants, outputs;
  for (const Tensor& t : plan.constants) constants.append(t.nbytes());
  for (int64_t bytes : plan.outputs) outputs.append(bytes);
  d["constants"] = constants;
  d["outputs"] = outputs;
  if (const Once* once = program.once()) {
    nb::list results;
    for (int64_t bytes : once->chain().plan().outputs) results.append(bytes);
    d["once"] = nb::dict();
    d["once"]["steps"] = steps(once->chain());
    d["once"]["results"] = results;
    d["once"]["runs"] = once->runs();
  }
  return d;
}

nb::list pass_list() {
  nb::list list;
  for (const Pass& p : pipeline()) list.append(nb::make_tuple(str(p.name), str(stage_name(p.stage)), str(p.doc)));
  return list;
}

}  // namespace hw::bind
