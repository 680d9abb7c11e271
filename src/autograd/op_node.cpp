// Recorded calls: saving, and applying the op's gradient rule.
#include "autograd/op_node.h"

#include "autograd/mode.h"
#include "autograd/record.h"
#include "autograd/views.h"
#include "base/error.h"
#include "op/grad_ctx.h"
#include "op/math.h"
#include "op/recording.h"
#include "op/rules.h"
#include "op/saved.h"

namespace hw {

const Tensor& SavedTensor::get(std::string_view op, std::string_view what) const {
  if (tensor_.defined())
    check_runtime(tensor_.version() == version_, "the gradient of ", op, " needs '", what, "' (", tensor_,
                  "), which was changed in place since: it is at version ", tensor_.version(), ", saved at version ",
                  version_, ". Use the out-of-place form of the later operation, or clone() the tensor before it.");
  return tensor_;
}

OpNode::OpNode(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) : op_(op) {
  if (&attrs != &op.default_attrs()) own_attrs_ = attrs;
  next.resize(in.size());
  in_specs_.resize(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].defined()) continue;
    next[i] = gradient_edge(in[i]);
    in_specs_[i] = in[i].spec();
  }
}

/// Whether the gradient of the op will read input i; `needs(j)`: whether input j gets a gradient.
template <class Needs>
static bool is_read(const OpDef& op, size_t count, size_t i, Needs&& needs) {
  if (!op.saves_input(i)) return false;
  uint64_t wanted = 0;
  bool all = true;
  for (size_t j = 0; j < count && j < 64; ++j) {
    const bool need = needs(j);
    wanted |= uint64_t{need} << j;
    all = all && need;
  }
  return all || (readers_of_input(op, i) & wanted) != 0;
}

bool keeps_input(const OpDef& op, std::span<const Tensor> in, size_t i) {
  return is_read(op, in.size(), i, [&](size_t j) { return requires_grad(in[j]); });
}

void OpNode::save(std::span<const Tensor> in, std::span<const Tensor> out) {
  if (op_.saves_inputs()) saved_in_.resize(in.size());
  if (op_.saves_outputs()) saved_out_.resize(out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].defined() || !is_read(op_, in.size(), i, [&](size_t j) { return bool(next[j].node); })) continue;
    check_runtime(!in[i]->inference,
                  "a tensor made in inference mode cannot be saved for a backward pass; clone() it first");
    saved_in_[i] = SavedTensor(in[i], false);
  }
  out_specs_.reserve(out.size());
  outputs.reserve(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out_specs_.push_back(out[i].spec());
    outputs.push_back({out[i].dtype(), out[i].shape()});
    if (op_.saves_output(i)) saved_out_[i] = SavedTensor(out[i], true);
  }
}

void OpNode::release_saved() {
  for (SavedTensor& s : saved_in_) s.reset();
  for (SavedTensor& s : saved_out_) s.reset();
  released_ = true;
}

Tensors OpNode::unpack_inputs() const {
  Tensors list(in_specs_.size());
  const bool computed_inexact =
      op_.promotion() != Promote::No && !out_specs_.empty() && is_inexact(out_specs_[0].dtype);
  for (size_t i = 0; i < saved_in_.size(); ++i) {
    if (!saved_in_[i].defined()) continue;
    const InputDef& def = op_.input_def(i, saved_in_.size());
    list[i] = saved_in_[i].get(op_.name(), def.name);
    // The op computed with the promoted numbers, and so does its gradient: the square of 200 is not one of u8.
    if (computed_inexact && !is_inexact(list[i].dtype()) && def.dtypes != boolean && !list[i]->wrapped)
      list[i] = to(list[i], out_specs_[0].dtype);
  }
  return list;
}

Tensors OpNode::unpack_outputs() {
  Tensors list(out_specs_.size());
  for (size_t i = 0; i < saved_out_.size(); ++i) {
    if (!saved_out_[i].defined()) continue;
    list[i] = saved_out_[i].get(op_.name(), op_.outputs()[i].name);
    if (t_grad_mode.enabled) {  // second order: the output's history is this node
      list[i] = list[i].alias();
      if (is_inexact(list[i].dtype())) set_history(list[i], Ref<GradNode>(this), static_cast<uint32_t>(i));
    }
  }
  return list;
}

Tensors OpNode::apply(std::span<const Tensor> dy, bool keep) {
  check_runtime(!released_, "the graph behind ", op_.name(),
                " was already used for a backward pass and freed; pass retain_graph=True the first time");
  Tensors in = unpack_inputs(), out = unpack_outputs();
  uint64_t needs = 0;
  for (size_t i = 0; i < next.size(); ++i)
    if (next[i].node) needs |= uint64_t{1} << (i & 63);
  if (next.size() > 64) needs = ~uint64_t{0};
  GradCtx ctx(op_, attrs(), in_specs_, out_specs_, in, out, dy, needs);
  op_.grad_rule()(ctx);
  if (!keep && !spliced) release_saved();
  return ctx.take();
}

static OriginText g_origin_text = nullptr;
static const bool answers_recording = (set_recording_query([] { return t_grad_mode.enabled; }), true);

void set_origin_text(OriginText f) { g_origin_text = f; }
std::string origin_text() { return g_origin_text ? g_origin_text() : std::string(); }

static bool any_needs_history(std::span<const Tensor> out) {
  for (const Tensor& t : out)
    if (is_inexact(t.dtype())) return true;
  return false;
}

/// An op without gradient: a node that explains itself when it is reached.
namespace {
class NoGradNode final : public GradNode {
 public:
  NoGradNode(const OpDef& op, std::span<const Tensor> in) : op_(op) {
    for (const Tensor& t : in) next.push_back(gradient_edge(t));
  }
  std::string_view name() const override { return op_.name(); }
  Tensors apply(std::span<const Tensor>, bool) override {
    fail(ErrorKind::NotImplemented, op_.name(), " has no gradient: ", op_.no_grad_reason());
  }

 private:
  const OpDef& op_;
};
}  // namespace

void record(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out) {
  if (!any_needs_history(out)) return;
  Ref<GradNode> node;
  if (op.grad_rule()) {
    auto made = make_ref<OpNode>(op, in, attrs);
    made->save(in, out);
    node = made;
  } else {
    auto made = make_ref<NoGradNode>(op, in);
    for (const Tensor& t : out) made->outputs.push_back({t.dtype(), t.shape()});
    node = made;
  }
  if (t_grad_mode.anomaly) node->origin = origin_text();
  for (size_t i = 0; i < out.size(); ++i)
    if (is_inexact(out[i].dtype())) set_history(out[i], node, static_cast<uint32_t>(i));
}

void check_inplace(std::string_view op, const Tensor& t, bool recorded) {
  const char* end = op.ends_with('_') ? ": " : "_: ";
  check_runtime(t->storage->writable(), op, end, "the tensor's memory is read-only; clone() it first");
  const bool one_value = op == "zero_" || op == "fill_";  // every element gets the same
  for (size_t i = 0; i < t.shape().size(); ++i)
    check_runtime(one_value || t.strides()[i] != 0 || t.shape()[i] < 2 || t.numel() == 0, op, end, t,
                  " is expanded: several of its elements are one place in memory; clone() it first");
  const GradMeta* m = grad_meta(t);
  if (!m || !t_grad_mode.enabled) return;
  check_runtime(!m->requires_grad, op, end,
                "a leaf that requires gradients cannot be changed in place; do it under hw.no_grad()");
  if (m->view && grad_meta(m->view->base))
    check_runtime(!grad_meta(m->view->base)->requires_grad, op, end,
                  "a view of a leaf that requires gradients cannot be changed in place; do it under hw.no_grad()");
}

void record_inplace(const OpDef& op, std::span<const Tensor> in, const Tensor& in0_before, const Attrs& attrs) {
  const Tensor& t = in[0];
  Tensors old(in.begin(), in.end());
  old[0] = in0_before;
  auto node = make_ref<OpNode>(op, old, attrs);
  node->next[0] = gradient_edge(t);
  node->save(old, {&t, 1});
  if (t_grad_mode.anomaly) node->origin = origin_text();
  GradMeta& m = ensure_grad_meta(t);
  if (m.view)
    write_through_view(t, m, node);
  else
    set_history(t, node, 0);
}

}  // namespace hw
