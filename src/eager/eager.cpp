// The eager runner. A call with a known signature costs one hash lookup, the outputs' memory and the kernel.
#include "eager/eager.h"

#include <optional>

#include "autograd/record.h"
#include "base/error.h"
#include "core/allocator.h"
#include "core/generator.h"
#include "core/overlap.h"
#include "core/read_guard.h"
#include "eager/autocast.h"
#include "eager/global_hook.h"
#include "eager/infer.h"
#include "eager/prepared.h"
#include "eager/traced.h"
#include "op/created_like.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

EagerInterpreter& eager() {
  static EagerInterpreter e;
  return e;
}

namespace {
struct Install {
  Install() { set_default_interpreter(&eager()); }
} install;

thread_local Generator* t_generator = nullptr;

const Prepared* prepare(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out,
                        const Signature& signature, uint64_t hash) {
  std::vector<TensorSpec> in_specs = specs_of(in);
  Prepared p = explained(op, in_specs, attrs, [&] {
    Inferred inferred = infer_call(op, in_specs, attrs, out);
    Prepared made;
    made.compute = inferred.compute;
    made.outputs = std::move(inferred.outputs);
    made.kernel = prepare_kernel({op.name(), in_specs, made.outputs, attrs, made.compute}, DeviceType::CPU);
    made.scratch = made.kernel->scratch_bytes();
    return made;
  });
  return insert_prepared(signature, hash, std::move(p));
}

struct Scratch {
  explicit Scratch(size_t bytes) : bytes(bytes), data(allocate(bytes)) {}
  ~Scratch() { deallocate(data, bytes); }
  size_t bytes;
  void* data;
};

/// What a kernel reports is an index out of range, unless it says otherwise.
[[noreturn]] void fail_launch(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::string_view what) {
  constexpr std::string_view kRuntime = "RuntimeError: ";
  ErrorKind kind = what.starts_with("ZeroDivisionError") ? ErrorKind::Runtime : ErrorKind::Index;
  if (what.starts_with(kRuntime)) {
    kind = ErrorKind::Runtime;
    what.remove_prefix(kRuntime.size());
  }
  fail(kind, call_text(op, specs_of(in), attrs), ": ", what);
}

void launch(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Prepared& p, std::span<Tensor> out) {
  constexpr size_t kInline = 16;
  const void* in_inline[kInline];
  std::vector<const void*> in_many;
  const void** inputs = in_inline;
  if (in.size() > kInline) {
    in_many.resize(in.size());
    inputs = in_many.data();
  }
  for (size_t i = 0; i < in.size(); ++i) inputs[i] = in[i].defined() ? address_for(in[i], op.name()) : nullptr;
  void* outputs[8];
  for (size_t i = 0; i < out.size(); ++i) outputs[i] = address_for(out[i], op.name());
  LaunchStatus status;
  if (p.scratch) {
    Scratch scratch(p.scratch);
    p.kernel->run({inputs, outputs, scratch.data, &attrs, &status});
  } else {
    p.kernel->run({inputs, outputs, nullptr, &attrs, &status});
  }
  if (status.failed) [[unlikely]]
    fail_launch(op, in, attrs, status.message);
}

}  // namespace

void view_here(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  const Tensor& x = in[0];
  View v;
  try {
    check_type(x.defined(), "input '", op.inputs()[0].name, "' is required");
    v = op.view_rule()(x.spec(), attrs);
  } catch (const Error& e) {
    throw Error(e.kind(), text(call_text(op, specs_of(in), attrs), ": ", e.message()));
  }
  if (op.outputs()[0].dtype == &dtype::same) {
    out[0] = x.alias(std::move(v.shape), std::move(v.strides), x.offset() + v.offset);
  } else {  // the same bytes as another dtype
    TensorSpec spec = x.spec();
    DType d = op.outputs()[0].dtype({op, {&spec, 1}, attrs, DType::None});
    check_runtime(x.offset() * dtype_size(x.dtype()) % dtype_size(d) == 0,
                  "the first element does not lie at a multiple of ", dtype_size(d), " bytes");
    out[0] = Tensor::make(x->storage, d, std::move(v.shape), std::move(v.strides),
                          x.offset() * dtype_size(x.dtype()) / dtype_size(d) + v.offset);
  }
}

namespace {

void run_view(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  if (const GlobalHook* hook = global_hook()) [[unlikely]]
    if (hook->view(op, in, attrs, out)) return;
  {
    std::optional<TracedOp> traced;
    if (tracing()) [[unlikely]]
      traced.emplace(op, in, attrs, out);
    view_here(op, in, attrs, out);
  }
  track_view(out[0], in[0]);
}

/// The inputs of an in-place call, with copies of those whose elements the write would change before they are read; empty
/// when there are none. An elementwise op may read exactly what it writes.
Tensors apart_from_self(const OpDef& op, std::span<const Tensor> in) {
  Tensors apart;
  const Tensor& self = in[0];
  for (size_t i = 1; i < in.size(); ++i) {
    const Tensor& x = in[i];
    if (!x.defined() || !may_meet(self, x)) continue;
    if (op.sbp_rule() == &sbp::elementwise && same_memory(self, x)) continue;
    if (apart.empty()) apart.assign(in.begin(), in.end());
    apart[i] = clone(x);
  }
  return apart;
}

void check_anomaly(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out) {
  for (const Tensor& t : out) {
    if (!t.defined() || !has_nan(t)) continue;
    for (const Tensor& x : in)
      if (x.defined() && has_nan(x)) return;  // not the first
    if (op.inputs().empty() || op.name() == "empty") return;
    std::string origin = origin_text();
    fail(ErrorKind::Runtime, "anomaly: ", call_text(op, specs_of(in), attrs), " made the first NaN",
         origin.empty() ? "" : ", called in ", origin);
  }
}

}  // namespace

Generator& current_generator() { return t_generator ? *t_generator : default_generator(); }
Generator* set_current_generator(Generator* g) noexcept { return std::exchange(t_generator, g); }

[[gnu::always_inline]] static inline void execute_untraced(const OpDef& op, std::span<const Tensor> in,
                                                           const Attrs& attrs, std::span<Tensor> out) {
  Signature signature;
  append_signature(signature, op, in, attrs, out);
  uint64_t hash = hash_signature(signature);
  const Prepared* p = find_prepared(signature, hash);
  if (!p) [[unlikely]]
    p = prepare(op, in, attrs, out, signature, hash);
  if (p->outputs.size() < out.size()) [[unlikely]]
    out = out.first(p->outputs.size());  // a rule may leave optional outputs out: these stay undefined
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i].defined()) out[i] = Tensor::empty_strided_unchecked(p->outputs[i]);
  launch(op, in, attrs, *p, out);
}

[[gnu::noinline, gnu::cold]] static void execute_traced(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs,
                                                        std::span<Tensor> out) {
  const TracedOp traced(op, in, attrs, out);
  execute_untraced(op, in, attrs, out);
}

[[gnu::always_inline]] static inline void execute_now(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs,
                                                      std::span<Tensor> out) {
  if (tracing()) [[unlikely]]
    return execute_traced(op, in, attrs, out);
  execute_untraced(op, in, attrs, out);
}

void execute_here(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  if (t_local_recorder) [[unlikely]]
    return t_local_recorder->local(op, in, attrs, out);
  execute_now(op, in, attrs, out);
}

void EagerInterpreter::execute(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  if (const GlobalHook* hook = global_hook()) [[unlikely]]
    if (hook->execute(op, in, attrs, out)) return;
  execute_now(op, in, attrs, out);
}

Attrs EagerInterpreter::with_draw(const OpDef& op, const Attrs& attrs) {
  Attrs filled = attrs;
  Generator& g = current_generator();
  filled[static_cast<size_t>(op.attr_index("seed"))] = static_cast<int64_t>(g.seed());
  filled[static_cast<size_t>(op.attr_index("draw"))] = static_cast<int64_t>(g.next_draw());
  return filled;
}

void EagerInterpreter::run(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  if (t_autocast.enabled && op.autocast() != Autocast::Same) [[unlikely]]
    if (Tensors cast = autocast_inputs(op, in); !cast.empty()) {
      AutocastState before = std::exchange(t_autocast, {});
      try {
        run(op, cast, attrs, out);
      } catch (...) {
        t_autocast = before;
        throw;
      }
      t_autocast = before;
      return;
    }
  if (op.kind() == OpKind::View) {
    run_view(op, in, attrs, out);
    viewed(op, in, attrs, out[0]);
    if (should_record(op, in)) record(op, in, attrs, out);
    return;
  }
  if (op.is_random()) {
    Attrs filled = with_draw(op, attrs);
    execute(op, in, filled, out);
    if (should_record(op, in)) record(op, in, filled, out);
  } else {
    execute(op, in, attrs, out);
    if (should_record(op, in)) record(op, in, attrs, out);
  }
  if (t_grad_mode.inference)
    for (Tensor& t : out)
      if (t.defined()) t->inference = true;
  if (t_grad_mode.anomaly) [[unlikely]]
    check_anomaly(op, in, attrs, out);
}

Tensors EagerInterpreter::call(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  if (op.kind() == OpKind::Composite) {
    std::optional<TracedOp> traced;
    if (tracing() && this == &eager()) [[unlikely]]  // while capturing nothing runs
      traced.emplace(op, in, attrs, std::span<Tensor>());
    try {
      std::vector<TensorSpec> specs = specs_of(in);
      InferCtx c{op, specs, attrs, compute_dtype(op, specs)};
      check_inputs(c);
      if (const GlobalHook* hook = global_hook()) [[unlikely]]
        hook->check_mix(op, in);
      CreatedLike model(in);
      if (t_autocast.enabled && op.autocast() != Autocast::Same)
        if (Tensors cast = autocast_inputs(op, in); !cast.empty()) return op.composite_body()(cast, attrs);
      return op.composite_body()(in, attrs);
    } catch (const Error& e) {
      std::string prefix = call_text(op, specs_of(in), attrs);
      if (e.message().starts_with(op.name() + "(")) throw;
      throw Error(e.kind(), text(prefix, ": ", e.message()));
    }
  }
  Tensors out(op.outputs().size());
  run(op, in, attrs, out);
  return out;
}

Tensor EagerInterpreter::call_inplace(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  check_type(!in.empty() && in[0].defined(), op.name(), "_: the first argument must be a tensor");
  const Tensor& self = in[0];
  if (Tensors apart = apart_from_self(op, in); !apart.empty()) return call_inplace(op, apart, attrs);
  bool recorded = should_record(op, in);
  check_inplace(op.name(), self, recorded);
  const bool cast = t_autocast.enabled && op.autocast() != Autocast::Same;
  if (op.kind() != OpKind::Kernel || (recorded && !op.grad_rule()) || cast) {
    // By way of a new tensor: composites, and ops whose gradient is that of their parts.
    static const Op copy{"copy_"};
    Tensors parts(in.begin(), in.end());
    if (recorded) parts[0] = clone(self);  // what the parts save must not be what is overwritten
    Tensor result = call(op, parts, attrs).at(0);
    check_runtime(result.shape() == self.shape(), op.name(), "_: the result has shape ", result.shape(),
                  ", not that of ", self);
    check_runtime(can_cast(result.dtype(), self.dtype()), op.name(), "_: the result is ", result.dtype(),
                  ", which cannot be stored in ", self);
    return copy.inplace({self, result});
  }
  const bool kept = recorded && keeps_input(op, in, 0);
  Tensor before = kept ? clone(self.alias()) : self.alias();
  if (kept && requires_grad(self)) {
    GradNode::Edge edge = gradient_edge(self);
    set_history(before, edge.node, edge.slot);
  }
  Attrs filled = op.is_random() ? with_draw(op, attrs) : attrs;
  Tensor out = self;
  execute(op, in, filled, {&out, 1});
  self->storage->bump_version();
  if (recorded) record_inplace(op, in, before, filled);
  if (t_grad_mode.anomaly) [[unlikely]]
    check_anomaly(op, in, filled, {&out, 1});
  return self;
}

std::string chosen_kernel(const OpDef& op, std::span<const TensorSpec> in, const Attrs& attrs) {
  DType compute = compute_dtype(op, in);
  std::vector<TensorSpec> out = infer_outputs({op, in, attrs, compute});
  std::string name;
  prepare_kernel({op.name(), in, out, attrs, compute}, DeviceType::CPU, &name);
  return name;
}

bool has_nan(const Tensor& t) {
  if (!is_inexact(t.dtype())) return false;
  static const Op isnan{"isnan"}, any{"any"};
  GradMode before = std::exchange(t_grad_mode, GradMode{false, false, false});
  bool found = any({isnan({t.alias()})}).item().truth();
  t_grad_mode = before;
  return found;
}

}  // namespace hw
