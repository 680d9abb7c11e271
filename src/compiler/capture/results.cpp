// What a captured program leaves behind: outputs, written memory, gradients of leaves.
#include <algorithm>

#include "autograd/node.h"
#include "base/error.h"
#include "compiler/capture/capture.h"
#include "core/read_guard.h"

namespace hw {

Capture::LeafGradient& Capture::gradient_entry(const Tensor& leaf) {
  auto [it, fresh] = gradient_index_.try_emplace(leaf.body(), gradients_.size());
  if (fresh) {
    const GradMeta* m = grad_meta(leaf);
    gradients_.push_back({leaf, m ? m->grad : Tensor(), false, false, {}, false, false});
  }
  return gradients_[it->second];
}

void Capture::reading(const Tensor& leaf) {
  LeafGradient& g = gradient_entry(leaf);
  if (g.written || g.read) return;
  g.read = true;
  if (!g.before.defined()) return;
  if (g.before->global) {
    if (!global_of(g.before)->captured && !whole_index_.count(g.before->global.get()))
      add_whole(g.before, static_cast<int32_t>(&g - gradients_.data()));
    return;
  }
  if (is_abstract(g.before)) return;
  if (memories_.count(g.before->storage.get())) return;
  Memory& m = add_source_memory(g.before, GraphSource::Kind::State, "");
  source_gradients_[static_cast<size_t>(m.source)] = static_cast<int32_t>(&g - gradients_.data());
}

void Capture::writing(const Tensor& leaf) { gradient_entry(leaf).written = true; }

/// Whether there is nothing behind it: it was made while capturing.
static bool made_inside(const Tensor& t) { return t->global ? global_of(t)->captured : is_abstract(t); }

void Capture::asking(const Tensor& t) {
  if (made_inside(t) || t->wrapped || noted_constants_.count(t->storage.get())) return;
  auto [it, fresh] = flag_index_.try_emplace(t.body(), flags_.size());
  if (!fresh) return;
  flags_.push_back({t, requires_grad(t)});
  History& h = histories_.emplace_back();
  h.requires_after = flags_.back().requires_grad;
  if (const GradMeta* m = grad_meta(t)) {
    h.fn = m->fn;
    h.slot = m->slot;
    h.leaf_requires_grad = m->requires_grad;
    h.retained = m->retained;
    if (m->view) h.view_version = m->view->version;
  }
}

/// Nodes of the capture must not stay on tensors from outside, whether the capture is of use or was given up.
void Capture::restore_history() {
  for (size_t i = 0; i < histories_.size(); ++i) {
    History& h = histories_[i];
    const Tensor& t = flags_[i].tensor;
    h.requires_after = requires_grad(t);
    GradMeta* m = grad_meta(t);
    if (!m) continue;
    // A view may only have been brought up to date; what was written is seen at its base.
    h.rewritten = !m->view && (m->fn.get() != h.fn.get() || m->slot != h.slot);
    m->fn = h.fn;
    m->slot = h.slot;
    m->requires_grad = h.leaf_requires_grad;
    if (m->retained.get() != h.retained.get()) {
      m->retained = h.retained;
      if (m->retained) m->retained->removed = false;
    }
    if (m->view) m->view->version = h.view_version;
  }
}

/// Tensors from outside that share memory must share it in each run.
void Capture::note_alias(const Tensor& t, const Memory& m) {
  if (!active_ || is_abstract(t) || !t->wrapper || views_.count(t.body()) || noted_constants_.count(t->storage.get()))
    return;
  for (const Alias& a : aliases_)
    if (a.tensor == t) return;
  aliases_.push_back({t, m.base, t.offset() - m.base.offset(), t.shape(), t.strides()});
}

void Capture::output(const Tensor& t, Outputs& to) {
  Returned r;
  r.first = static_cast<int32_t>(to.values.size());
  if (!t->global) {
    to.values.push_back(local_output(t));
    to.returned.push_back(r);
    return;
  }
  const Tensors parts = parts_of(t);
  r.count = static_cast<int32_t>(parts.size());
  r.place = global_of(t)->place;
  r.spec = t.spec();
  r.spec.wrapped = false;
  r.whole = whole_with(t->storage.get());
  if (r.whole != kNone) {
    const Tensor& whole = wholes_[static_cast<size_t>(r.whole)].tensor;
    check_runtime(!global_of(t)->moved, "the compiled function returns a view, ", t, ", of a global tensor, ", whole,
                  ", whose parts had to be moved for it; return clone() of it");
    r.itself = t == whole;
    r.offset = t.offset() - whole.offset();
  }
  for (const Tensor& p : parts) to.values.push_back(local_output(p));
  to.returned.push_back(std::move(r));
}

Capture::Output Capture::local_output(const Tensor& t) {
  Output o;
  ValueId v = value_of(t);
  const Memory& m = memory_of(t);
  o.value = v;
  o.dtype = t.dtype();
  o.shape = t.shape();
  o.strides = t.strides();
  const int64_t size = dtype_size(t.dtype());
  o.offset = t.offset() - m.base.offset() * dtype_size(m.base.dtype()) / size;
  if (m.source != kNone && !is_constant(m)) {
    o.source = m.source;
    o.itself = t == m.base;
    return o;
  }
  int32_t group = 0;  // the first output on the same memory
  while (group < static_cast<int32_t>(output_storages_.size()) &&
         output_storages_[static_cast<size_t>(group)] != t->storage.get())
    ++group;
  output_storages_.push_back(t->storage.get());
  graph_.results.push_back({GraphResult::Kind::Output, v, group});
  return o;
}

void Capture::name_state(const Tensor& t, const std::string& name) {
  if (t->global) {
    const auto whole = whole_index_.find(t->global.get());
    if (whole == whole_index_.end()) return;
    const Place& place = *global_of(t)->place;
    for (size_t i = 0; i < graph_.sources.size(); ++i)
      if (source_notes_[i].whole == static_cast<int32_t>(whole->second) && graph_.sources[i].name.empty())
        graph_.sources[i].name =
            text(name, "@",
                 place.value.mesh.ranks[static_cast<size_t>(place.here[static_cast<size_t>(source_notes_[i].part)])]);
    return;
  }
  auto it = memories_.find(t->storage.get());
  if (it == memories_.end() || it->second.source == kNone) return;
  GraphSource& s = graph_.sources[static_cast<size_t>(it->second.source)];
  if (s.name.empty()) s.name = name;
}

Tensors Capture::differentiable_sources() const {
  Tensors list;
  for (size_t i = 0; i < graph_.sources.size(); ++i) {
    if (source_notes_[i].whole != kNone) continue;
    const int32_t input = source_notes_[i].input;
    const Tensor& t = input != kNone ? stand_ins_[static_cast<size_t>(input)] : source_tensors_[i];
    if (t.defined() && requires_grad(t)) list.push_back(t);
  }
  for (const Whole& w : wholes_)
    if (w.gradient == kNone && requires_grad(w.tensor)) list.push_back(w.tensor);
  // A parameter whose memory was first met through detach() or .data.
  for (const Alias& a : aliases_)
    if (!requires_grad(a.base) && requires_grad(a.tensor) && is_leaf(a.tensor)) list.push_back(a.tensor);
  return list;
}

void Capture::finish() {
  for (const auto& [storage, m] : memories_)
    if (m.written && m.source != kNone && !is_constant(m))
      graph_.results.push_back({GraphResult::Kind::Update, m.value, m.source});
  std::stable_sort(graph_.results.begin(), graph_.results.end(), [](const GraphResult& a, const GraphResult& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.kind == GraphResult::Kind::Update && a.source < b.source;
  });
  settle_gradients();
  settle_flags();
  given_.clear();
}

/// Whether a leaf is there after the call: an argument, or a tensor that somebody outside holds.
bool Capture::lasts(const Tensor& leaf) const {
  for (const Tensor& s : stand_ins_)
    if (s == leaf) return true;
  return !made_inside(leaf) && leaf->wrapper && !noted_constants_.count(leaf->storage.get());
}

void Capture::settle_gradients() {
  for (LeafGradient& g : gradients_) {
    Tensor after = std::exchange(g.after, {});
    if (!lasts(g.leaf)) {
      g = {};
      continue;
    }
    g.changed = g.written && !(after.defined() && after == g.before);
    if (!g.changed) continue;
    for (size_t i = 0; i < stand_ins_.size() && i < given_.size(); ++i)
      check_runtime(!(stand_ins_[i] == g.leaf) || is_leaf(given_[i]),
                    "backward() inside a compiled function reaches its argument arg", i, ", ", g.leaf,
                    ", which was computed outside; pass detach() of it, or call backward() outside");
    if (!after.defined()) continue;
    check_runtime(made_inside(after), "a gradient was set to a tensor, ", after,
                  ", that the compiled function did not compute; set it outside");
    if (g.leaf->global || after->global) {
      settle_global(g, after);
      continue;
    }
    // The leaf must be a source, so that the result can name it.
    value_of(g.leaf);
    g.result = true;
    graph_.results.push_back({GraphResult::Kind::Gradient, value_of(after), memory_of(g.leaf).source});
  }
}

/// requires_grad of what is outside must be at the end what it was.
void Capture::settle_flags() {
  std::erase_if(aliases_, [](const Alias& a) { return a.tensor->use_count() == 1; });
  const std::vector<History> histories = std::move(histories_);
  histories_.clear();
  for (size_t i = 0; i < histories.size(); ++i) {
    const Flag& f = flags_[i];
    if (!f.tensor->wrapper || views_.count(f.tensor.body())) continue;  // not from outside
    check_runtime(histories[i].requires_after == f.requires_grad, "requires_grad of ", f.tensor, " is ",
                  f.requires_grad ? "True" : "False",
                  " before the compiled function and not after it; change it outside");
    check_runtime(!histories[i].rewritten, f.tensor,
                  ", a tensor from outside with a history of its own, is written in place by the",
                  " compiled function: a run would not record that. Write to a clone() of it and return that, or write "
                  "under hw.no_grad()");
  }
}

std::vector<int32_t> Capture::written_sources() const {
  std::vector<int32_t> list;
  for (const GraphResult& r : graph_.results)
    if (r.kind == GraphResult::Kind::Update) list.push_back(r.source);
  return list;
}

std::vector<std::string> Capture::leaks() const {
  std::vector<std::string> list;
  for (const auto& [storage, m] : memories_)
    if (m.source == kNone) m.base->autograd.reset();
  for (const auto& [storage, m] : memories_)
    if (m.source == kNone && (storage->use_count() > 1 || m.base->use_count() > 1))
      list.push_back(text(m.base, " made in ", graph_.origins[static_cast<size_t>(m.origin)]));
  return list;
}

}  // namespace hw
