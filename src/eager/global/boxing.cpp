// Boxing by transfer lists, for the ranks that this process hosts.
#include "eager/global/boxing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/accumulate.h"
#include "autograd/node.h"
#include "base/error.h"
#include "core/read_guard.h"
#include "core/visit.h"
#include "eager/global/collective.h"
#include "eager/global/exchange.h"
#include "eager/global/rehearsal.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "op/call.h"
#include "op/split_form.h"
#include "sbp/transfer.h"

namespace hw {

namespace {

const Op copy_op{"copy_"}, add_op{"add"}, maximum_op{"maximum"}, minimum_op{"minimum"}, fill_op{"fill_"},
    clone_op{"clone"}, boxing_op{"_boxing"}, empty_op{"empty"};

void write(const Op& op, const Tensor& to, const Tensor& from) {
  Tensor out = to;
  const Tensor in[2] = {to, from};
  execute_here(op.def(), in, op.def().default_attrs(), {&out, 1});
}

/// Memory for what is not there yet; in a captured graph, a value that nobody set.
Tensor room(const Dims& shape, DType dtype) {
  if (!t_local_recorder) return Tensor::empty(shape, dtype);
  Tensor out;
  execute_here(empty_op.def(), {}, {shape, dtype}, {&out, 1});
  return out;
}

Tensor cloned(const Tensor& t) {
  Tensor out;
  execute_here(clone_op.def(), {&t, 1}, clone_op.def().default_attrs(), {&out, 1});
  return out;
}

/// The lowest or highest value of a dtype, or 0: what changes nothing in a reduction.
Scalar identity_of(const Sbp& kind, DType dtype) {
  if (kind == partial_sum()) return Scalar(int64_t{0});
  const bool low = kind == partial_max();
  return visit_dtype(dtype, [&]<class T>(Type<T>) -> Scalar {
    if constexpr (std::is_same_v<T, bool>)
      return Scalar(!low);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
    else
      return Scalar(low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  });
}

void fill_identity(const Tensor& t, const Sbp& kind) {
  if (t.numel() == 0) return;
  write(fill_op, t, Tensor::scalar(identity_of(kind, t.dtype()), t.dtype()));
}

const Op& reduction_of(const Sbp& kind) {
  return kind == partial_max() ? maximum_op : kind == partial_min() ? minimum_op : add_op;
}

/// The view of `part`, which is box `whole` of the global tensor, that shows box `wanted`.
Tensor shown(const Tensor& part, const Box& whole, const Box& wanted) {
  if (whole == wanted) return part;
  Dims shape;
  int64_t offset = part.offset();
  for (size_t a = 0; a < wanted.size(); ++a) {
    shape.push_back(wanted[a].size());
    offset += (wanted[a].begin - whole[a].begin) * part.strides()[a];
  }
  return part.alias(std::move(shape), part.strides(), offset);
}

size_t index_of(const Ints& here, int64_t position) {
  return static_cast<size_t>(std::find(here.begin(), here.end(), position) - here.begin());
}

/// One step for the ranks that this process hosts. `parts` are those of the source.
class Step {
 public:
  Step(const TransferList& list, const Dims& shape, DType dtype, const Tensors& parts)
      : list_(list),
        shape_(shape),
        dtype_(dtype),
        parts_(parts),
        from_here_(hosted_positions(list.source.mesh)),
        to_here_(hosted_positions(list.target.mesh)) {
    if (list.reduction == partial_max() || list.reduction == partial_min())
      check_type(!is_complex(dtype), list.reduction, " is not defined for ", dtype, ", which has no order");
  }

  Tensors run() {
    pieces_.resize(list_.transfers.size());
    exchange();
    Tensors out;
    size_t at = 0;
    for (int64_t to : to_here_) {
      while (at < list_.transfers.size() && list_.transfers[at].to < to) ++at;
      const size_t first = at;
      while (at < list_.transfers.size() && list_.transfers[at].to == to) ++at;
      out.push_back(received(to, first, at));
    }
    return out;
  }

 private:
  static int64_t rank_of(const Placement& p, int64_t position) { return p.mesh.ranks[static_cast<size_t>(position)]; }
  int sender(const Transfer& t) const { return world().process_of(rank_of(list_.source, t.from)); }
  int receiver(const Transfer& t) const { return world().process_of(rank_of(list_.target, t.to)); }
  Tensor piece(const Transfer& t) const {
    return shown(parts_[index_of(from_here_, t.from)], local_box(list_.source, shape_, t.from), t.box);
  }
  static Dims dims_of(const Box& box) {
    Dims d;
    for (const Interval& i : box) d.push_back(i.size());
    return d;
  }

  /// Pieces from other processes. What several ranks of a process need is sent to it once.
  void exchange() {
    const World& w = world();
    if (w.processes == 1) return;
    std::vector<Sent> sent;
    std::vector<Expected> expected;
    std::vector<std::pair<size_t, int>> moved;  // first transfer of its kind, to which process
    std::vector<size_t> same_as(list_.transfers.size(), SIZE_MAX), come;
    for (size_t i = 0; i < list_.transfers.size(); ++i) {
      const Transfer& t = list_.transfers[i];
      const int from = sender(t), to = receiver(t);
      if (from == to || (from != w.process && to != w.process)) continue;
      auto same = [&](const std::pair<size_t, int>& m) {
        return m.second == to && list_.transfers[m.first].from == t.from && list_.transfers[m.first].box == t.box;
      };
      auto before = std::find_if(moved.begin(), moved.end(), same);
      if (before != moved.end()) {
        same_as[i] = before->first;
        continue;
      }
      moved.push_back({i, to});
      if (to == w.process) {
        expected.push_back({dims_of(t.box), from});
        come.push_back(i);
      } else {
        const Tensor p = piece(t);
        sent.push_back({p.contiguous() ? p : cloned(p), to});
      }
    }
    const Tensors received = hw::exchange(sent, expected, dtype_);
    for (size_t k = 0; k < come.size(); ++k) pieces_[come[k]] = received[k];
    for (size_t i = 0; i < same_as.size(); ++i)
      if (same_as[i] != SIZE_MAX) pieces_[i] = pieces_[same_as[i]];
  }

  /// What one rank of the target gets: `first`..`last` are its transfers.
  Tensor received(int64_t to, size_t first, size_t last) const {
    const Box box = local_box(list_.target, shape_, to);
    if (last == first + 1 && list_.transfers[first].box == box) {
      // Another rank's slice is dense, as if it had come in a message: kernels must see the same strides however ranks are hosted.
      const Tensor p = part_of(first);
      const bool own = rank_of(list_.source, list_.transfers[first].from) == rank_of(list_.target, to);
      return own || p.contiguous() ? p : cloned(p);
    }
    if (last > first + 1 && sums_two(list_.transfers[first], list_.transfers[first + 1], box)) {
      const Tensor a = part_of(first), b = part_of(first + 1);
      if (a.contiguous() && b.contiguous()) return reduced(joined(a, b), box, first + 2, last);
    }
    Tensor made = room(dims_of(box), dtype_);
    const Sbp& fill = list_.fill[static_cast<size_t>(to)];
    if (!(fill == broadcast())) fill_identity(made, fill);
    return reduced(std::move(made), box, first, last);
  }

  /// Whether a result begins with the reduction of two whole parts.
  static bool sums_two(const Transfer& a, const Transfer& b, const Box& box) {
    return b.reduce && a.box == box && b.box == box;
  }
  Tensor joined(const Tensor& a, const Tensor& b) const {
    Tensor out;
    const Tensor in[2] = {a, b};
    const OpDef& op = reduction_of(list_.reduction).def();
    execute_here(op, in, op.default_attrs(), {&out, 1});
    return out;
  }
  Tensor reduced(Tensor made, const Box& box, size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      const Transfer& t = list_.transfers[i];
      write(t.reduce ? reduction_of(list_.reduction) : copy_op, shown(made, box, t.box), part_of(i));
    }
    return made;
  }
  Tensor part_of(size_t i) const { return pieces_[i].defined() ? pieces_[i] : piece(list_.transfers[i]); }

  const TransferList& list_;
  const Dims& shape_;
  const DType dtype_;
  const Tensors& parts_;
  const Ints from_here_, to_here_;
  Tensors pieces_;  // by transfer, of those that came from another process
};

thread_local std::string t_apart;

/// `target`: where a value goes; null: to every process.
void check_apart(const Tensor& t, const Mesh* target) {
  if (t_apart.empty()) return;
  if (target) {
    const Ints& own = global_of(t)->place->value.mesh.ranks;
    const bool within = std::all_of(target->ranks.begin(), target->ranks.end(),
                                    [&](int64_t rank) { return std::find(own.begin(), own.end(), rank) != own.end(); });
    if (within) return;
  }
  const std::string what = target
                               ? text("would move ", t.spec(), " to ", *target)
                               : text("would read the value of ", t.spec(), " (item(), full(), printing, a condition)");
  fail(ErrorKind::Runtime, t_apart, " ", what,
       ". Only the processes that host it work on it, so the others would wait for ever. Hand it on as a result, or "
       "look "
       "at a part by to_local().");
}

bool shares(const Tensor& t, const Tensors& with) {
  for (const Tensor& w : with)
    if (w->storage == t->storage) return true;
  return false;
}

}  // namespace

Tensors boxed_parts(const Tensor& t, const Place* to, const Tensors& into) {
  const GlobalTensor& g = *global_of(t);
  Tensors parts = parts_of(t);
  if (g.place == to) return parts;
  const bool meta = is_meta(g.place->value.mesh);
  check_runtime(meta == is_meta(to->value.mesh), "a tensor on ", g.place->value.mesh, " cannot be moved to ",
                to->value.mesh, ": 'meta' devices hold no values");
  if (meta) {
    if (t_rehearsal) t_rehearsal->moved(g.place, to, t.shape(), t.dtype());
    return parts;
  }
  if (parts.size() == 1)
    if (const std::optional<Collective> c = collective_between(g.place, to, t.shape(), t.dtype())) {
      const bool usable = !into.empty() && into[0].dtype() == t.dtype() && into[0]->storage != parts[0]->storage;
      return {run(*c, parts[0], local_dims(to, t.shape(), to->here[0]), usable ? into[0] : Tensor())};
    }
  for (const TransferList& step : boxing_steps(g.place->value, to->value, t.shape()))
    parts = Step(step, t.shape(), t.dtype(), parts).run();
  return parts;
}

std::string set_apart(std::string work) { return std::exchange(t_apart, std::move(work)); }

Tensors parts_of_whole(const Tensor& whole, const Place* to) {
  if (to->here.empty()) return {};
  Box all(whole.shape().size());
  for (size_t a = 0; a < all.size(); ++a) all[a] = {0, whole.shape()[a]};
  const std::vector<TransferList> steps = boxing_steps(whole_on(to->value.mesh), to->value, whole.shape());
  Tensors parts;
  for (int64_t position : to->here) {
    const Box box = local_box(to->value, whole.shape(), position);
    const Sbp fill = steps.empty() ? broadcast() : steps[0].fill[static_cast<size_t>(position)];
    parts.push_back(shown(whole, all, box));
    if (fill == broadcast()) continue;
    parts.back() = room(parts.back().shape(), whole.dtype());
    parts.back()->wrapped = whole->wrapped;
    fill_identity(parts.back(), fill);
  }
  return parts;
}

/// Every process gets the value, also one that hosts no rank of the mesh.
static Tensor plain(const Tensor& t) {
  check_apart(t, nullptr);
  const GlobalTensor& g = *global_of(t);
  check_runtime(!is_meta(g.place->value.mesh), "a tensor on ", g.place->value.mesh,
                " has no value to read (item(), full(), printing, a condition): 'meta' devices hold none");
  const Mesh mesh = world().processes == 1 ? g.place->value.mesh : one_rank_each();
  Tensor part = boxed_parts(t, place_of(whole_on(mesh)))[0];
  return shares(part, g.parts) ? cloned(part) : part;
}

void run_boxing(const Tensor& in, const Attrs& attrs, std::span<Tensor> out) {
  const std::string& target = attrs[1].text();
  const GlobalTensor* g = global_of(in);
  if (target.empty()) {
    out[0] = g ? plain(in) : cloned(in);
    return;
  }
  const Place* to = place_of(parse_placement(target));
  if (g) check_apart(in, &to->value.mesh);
  Tensors parts = g ? boxed_parts(in, to) : parts_of_whole(in, to);
  for (Tensor& p : parts)
    if (g ? shares(p, g->parts) : p->storage == in->storage) p = cloned(p);
  TensorSpec spec = in.spec();
  spec.wrapped = false;
  spec.strides = contiguous_strides(spec.shape);
  out[0] = make_global(spec, to, std::move(parts));
}

Tensor to_place(const Tensor& t, const Place* to) {
  use_global_tensors();
  const GlobalTensor* g = global_of(t);
  if (g && g->place == to) return t;
  return boxing_op({t}, {g ? text(g->place->value) : std::string(), text(to->value)});
}

Tensor whole_of(const Tensor& t) {
  const GlobalTensor* g = global_of(t);
  return g ? boxing_op({t}, {text(g->place->value), std::string()}) : t;
}

/// The leaf's place, with the gradient's partial sums left where the leaf is the same on all ranks.
static const Place* deferred_place(const Placement& gradient, const Placement& leaf) {
  if (!(gradient.mesh == leaf.mesh)) return nullptr;
  Placement p = leaf;
  for (size_t a = 0; a < p.sbp.size(); ++a)
    if (p.sbp[a] == broadcast() && gradient.sbp[a] == partial_sum()) p.sbp[a] = partial_sum();
  return place_of(std::move(p));
}

static Tensor like_leaf(const Tensor& gradient, const Tensor& leaf) {
  const GlobalTensor* g = global_of(leaf);
  if (!g) return whole_of(gradient);
  if (t_defer_sums && !g->gradient && gradient->global) {
    const GradMeta* m = grad_meta(leaf);
    const Place* p = deferred_place(global_of(gradient)->place->value, g->place->value);
    if (p && m && m->hooks.empty() && m->post_hooks.empty()) return to_place(gradient, p);
  }
  return to_place(gradient, g->gradient ? g->gradient : place_of(without_partial(g->place->value)));
}

static bool lie_alike(const Tensor& a, const Tensor& b) {
  return a->global && b->global && global_of(a)->place == global_of(b)->place;
}

static bool is_split_within(const Tensor& t, int64_t first, int64_t last) {
  for (const Sbp& s : global_of(t)->place->value.sbp)
    if (s.is_split() && s.axis >= first && s.axis < last) return true;
  return false;
}

bool holds_alone(const Tensor& t) {
  const GlobalTensor& g = *global_of(t);
  if (g.use_count() != 1 || g.moved) return false;
  for (const Tensor& p : g.parts)
    if (p->use_count() != 1 || p->storage->use_count() != 1 || !p.contiguous()) return false;
  return true;
}

[[maybe_unused]] static const bool g_installed =
    (set_whole_of_global(&whole_of), set_place_gradient(&like_leaf, &holds_alone, &lie_alike),
     set_split_within(&is_split_within), true);

}  // namespace hw
