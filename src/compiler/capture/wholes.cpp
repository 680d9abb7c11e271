// Global tensors while a function is captured: their parts are what the graph knows.
#include "autograd/node.h"
#include "base/error.h"
#include "compiler/capture/capture.h"
#include "core/read_guard.h"
#include "op/op_def.h"

namespace hw {

static Tensor stand_in_for(const Tensor& given, const Place* place, Tensors parts) {
  TensorSpec spec = given.spec();
  spec.wrapped = false;
  Tensor made = make_global(spec, place, std::move(parts));
  global_of(made)->captured = true;  // also before the capture is entered
  return made;
}

/// The rank of a part, for names.
static int64_t rank_of(const Place& place, size_t part) {
  return place.value.mesh.ranks[static_cast<size_t>(place.here[part])];
}

Tensor Capture::add_global_input(const Tensor& given, const std::string& name) {
  check_runtime(!parent_, "hw.cond and hw.while_loop inside hw.compile take no global tensors, and ", given,
                " is one; choose between tensors with hw.where, or take it whole first, with full()");
  const GlobalTensor& g = *global_of(given);
  const auto input = static_cast<int32_t>(stand_ins_.size());
  const auto whole = static_cast<int32_t>(wholes_.size());
  Tensors parts;
  for (const Tensor& p : parts_of(given)) {
    TensorSpec spec = p.spec();
    spec.wrapped = false;
    argument_storages_.try_emplace(p->storage.get(), static_cast<int32_t>(graph_.sources.size()));
    parts.push_back(abstract_tensor(spec));
    add_source_memory(parts.back(), GraphSource::Kind::Input, text(name, "@", rank_of(*g.place, parts.size() - 1)));
    source_tensors_.back() = Tensor();
    source_notes_.back() = {input, whole, static_cast<int32_t>(parts.size() - 1)};
  }
  Tensor stand_in = stand_in_for(given, g.place, std::move(parts));
  if (g.gradient) global_of(stand_in)->gradient = g.gradient;
  wholes_.push_back({stand_in, input, kNone, g.place, stand_in.version(), false});
  take_given(given, stand_in);
  return stand_in;
}

/// A global tensor's parts are about to be used: they become state, if it is one from outside.
void Capture::meet(const Tensor& t) {
  GlobalTensor& g = *global_of(t);
  if (g.captured) return;
  if (const auto known = whole_index_.find(&g); known != whole_index_.end()) {
    // A parameter whose memory was first met through detach() or .data.
    Tensor& first = wholes_[known->second].tensor;
    if (!(first == t) && requires_grad(t) && !requires_grad(first)) {
      asking(t);
      first = t;
    }
    return;
  }
  check_runtime(!g.moved, "a view, ", t,
                ", of a global tensor whose parts had to be moved for it was made outside of the ",
                "compiled function; make it inside, or clone() it");
  asking(t);
  add_whole(t, kNone);
}

void Capture::add_whole(const Tensor& t, int32_t gradient) {
  const GlobalTensor& g = *global_of(t);
  const auto whole = static_cast<int32_t>(wholes_.size());
  whole_index_[&g] = wholes_.size();
  wholes_.push_back({t, kNone, gradient, g.place, t.version(), false});
  for (size_t r = 0; r < g.parts.size(); ++r) {
    const Storage* memory = g.parts[r]->storage.get();
    check_runtime(
        !argument_storages_.count(const_cast<Storage*>(memory)) && !memories_.count(const_cast<Storage*>(memory)),
        "the function reads by itself a global tensor, ", t,
        ", that shares memory with an argument or with another tensor that it reads; use one of them");
    add_source_memory(g.parts[r], GraphSource::Kind::State, "");
    source_notes_.back() = {kNone, whole, static_cast<int32_t>(r)};
    source_gradients_.back() = gradient;
  }
}

/// The global tensor from outside on this logical memory, or kNone.
int32_t Capture::whole_with(const Storage* storage) const {
  for (size_t i = 0; i < wholes_.size(); ++i)
    if (wholes_[i].tensor->storage.get() == storage) return static_cast<int32_t>(i);
  return kNone;
}

/// Runs an op through the interpreter of global tensors, which calls `local` for each hosted rank; false: it is an ordinary one.
bool Capture::on_ranks(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  const GlobalHook* hook = global_hook();
  if (!hook) return false;
  static const OpDef& boxing = get_op("_boxing");
  bool some = &op == &boxing;
  for (const Tensor& t : in) some = some || (t.defined() && t->global);
  if (some)
    for (const Tensor& t : in)
      if (t.defined() && !t->global) value_of(t);  // before parts are shown of it
  if (!hook->execute(op, in, attrs, out)) return false;
  check_runtime(node_limit_ == SIZE_MAX, "hw.compile: sizes of global tensors are no symbols");
  check_runtime(!parent_, "a global tensor is used inside hw.cond or hw.while_loop of a compiled function, in ",
                op.name(), "; choose between tensors with hw.where, or take it whole first, with full()");
  return true;
}

/// State of the program alone: each exchange writes it, and reads what the one before wrote.
const Tensor& Capture::token() {
  if (token_.defined()) return token_;
  token_ = Tensor::empty(Dims{1}, DType::U8);
  *static_cast<uint8_t*>(token_.data()) = 0;
  add_source_memory(token_, GraphSource::Kind::State, "exchanges");
  return token_;
}

/// A gradient that is global, or of a global leaf: its parts are results.
void Capture::settle_global(LeafGradient& g, const Tensor& after) {
  check_runtime(g.leaf->global && after->global, "the gradient of ", g.leaf, " was set to ", after,
                "; one of them is global, and the other is not");
  meet(g.leaf);
  const Tensors leaves = parts_of(g.leaf), parts = parts_of(after);
  g.result = true;
  g.place = global_of(after)->place;
  g.spec = after.spec();
  g.spec.wrapped = false;
  for (size_t r = 0; r < parts.size(); ++r)
    graph_.results.push_back(
        {GraphResult::Kind::Gradient, value_of(parts[r]), r < leaves.size() ? memory_of(leaves[r]).source : kNone});
}

}  // namespace hw
