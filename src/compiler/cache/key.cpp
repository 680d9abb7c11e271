// Hashing graphs and their circumstances.
#include "compiler/cache/key.h"

#include "base/build_id.h"
#include "base/flags.h"
#include "base/processor.h"
#include "base/thread_team.h"
#include "kernels/isa.h"
#include "kernels/kernel.h"
#include "kernels/tuning/tuning.h"
#include "plan/layout.h"

namespace hw {

namespace {

void add(Hasher& h, const Dims& numbers) {
  h.add_value(numbers.size());
  h.add(numbers.data(), numbers.size() * sizeof(int64_t));
}

void add(Hasher& h, const TensorSpec& s) {
  h.add_value(s.dtype);
  h.add_value(s.wrapped);
  h.add_value(s.device.type);
  h.add_value(s.device.index);
  add(h, s.shape);
  add(h, s.strides);
}

void add(Hasher& h, const AttrValue& a) {
  h.add_value(a.kind());
  h.add_value(a.dtype());
  h.add_value(a.scalar().kind());
  h.add_value(a.scalar().i64());
  h.add_value(a.scalar().c128().real());
  h.add_value(a.scalar().c128().imag());
  add(h, a.ints());
  h.add_text(a.text());
  h.add_value(a.floats().size());
  h.add(a.floats().data(), a.floats().size() * sizeof(double));
}

void add(Hasher& h, const Tensor& t) {
  h.add_value(t.defined());
  if (!t.defined()) return;
  add(h, t.spec());
  h.add(t.data(), static_cast<size_t>(extent_of(t.spec())));
}

void add(Hasher& h, const Graph& g);

void add(Hasher& h, const Node& n) {
  h.add_text(n.op);
  for (const auto* ids : {&n.inputs, &n.outputs}) {
    h.add_value(ids->size());
    h.add(ids->data(), ids->size() * sizeof(ValueId));
  }
  h.add_value(n.attrs.size());
  for (const AttrValue& a : n.attrs) add(h, a);
  h.add_value(n.bindings.size());
  for (const AttrBinding& b : n.bindings) {
    h.add_value(b.attr);
    h.add_value(b.kind);
    h.add_value(b.index);
  }
  h.add_value(n.origin);
  h.add_value(n.bodies.size());
  for (const auto& body : n.bodies) add(h, *body);
}

void add(Hasher& h, const Graph& g) {
  h.add_text(g.name);
  h.add_value(g.values.size());
  for (const GraphValue& v : g.values) {
    add(h, v.spec);
    h.add_value(v.producer);
    h.add_value(v.slot);
  }
  h.add_value(g.order.size());
  for (NodeId n : g.order) {
    h.add_value(n);
    add(h, g.node(n));
  }
  h.add_value(g.sources.size());
  for (const GraphSource& s : g.sources) {
    h.add_value(s.kind);
    h.add_value(s.value);
    h.add_text(s.name);
    if (s.kind == GraphSource::Kind::Constant) add(h, s.tensor);
  }
  h.add_value(g.results.size());
  for (const GraphResult& r : g.results) {
    h.add_value(r.kind);
    h.add_value(r.value);
    h.add_value(r.source);
  }
  h.add_value(g.origins.size());
  for (const std::string& s : g.origins) h.add_text(s);
  h.add_value(g.num_draws);
  h.add_value(g.num_host);
}

}  // namespace

Hash128 program_key(const Graph& graph, const PipelineOptions& options) {
  Hasher h;
  h.add_text(build_id());
  h.add_text(processor_name());
  h.add_text(isa_name(isa()));
  h.add_value(num_threads());
  h.add_value(tuning());
  h.add_text(kernels_off());
  h.add_text(flag_text("HEADWATER_KERNELS_OFF", ""));
  h.add_value(default_dtype());
  for (const Pass& p : pipeline()) h.add_text(p.name);
  h.add_text(options.off);
  h.add_text(flag_text("HEADWATER_PASSES_OFF", ""));
  h.add_value(options.pass.frozen);
  h.add_value(options.pass.most_folded_bytes);
  h.add_value(options.pass.memory_budget);
  add(h, graph);
  return h.result();
}

}  // namespace hw
