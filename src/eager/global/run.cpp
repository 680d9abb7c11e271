// Ops on global tensors: choose the signature, box the inputs, run on every hosted rank, wrap the outputs.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "autograd/mode.h"
#include "autograd/node.h"
#include "base/error.h"
#include "core/read_guard.h"
#include "eager/global/boxing.h"
#include "eager/global/choose.h"
#include "eager/global/rehearsal.h"
#include "eager/global/views.h"
#include "eager/global_hook.h"
#include "eager/infer.h"
#include "eager/prepared.h"
#include "kernels/random/request.h"
#include "op/call.h"
#include "op/created_like.h"
#include "op/math.h"
#include "op/split_form.h"

namespace hw {

namespace {

/// What was worked out for one call: kept by signature, as prepared kernels are.
struct Plan {
  Signature signature;
  GlobalChoice choice;
  std::vector<TensorSpec> out;  // logical
};

const Place* place_or_null(const Tensor& t) {
  const GlobalTensor* g = global_of(t);
  return g ? g->place : nullptr;
}

const Tensor* first_global(std::span<const Tensor> in) {
  for (const Tensor& t : in)
    if (t.defined() && t->global) return &t;
  return nullptr;
}

/// Numbers, and what a binding made of its user's numbers on the way, as the list in x[[0, 2]]: no object of the user stands for it.
bool is_number_like(const Tensor& t) { return !t.defined() || t->wrapped || t.ndim() == 0 || !t->wrapper; }

void check_mix(const OpDef& op, std::span<const Tensor> in) {
  if (t_created_like || t_implicit_broadcast)
    return;  // constants of a composite or a gradient are the same on every rank
  const Tensor* global = first_global(in);
  if (!global) return;
  for (size_t i = 0; i < in.size(); ++i)
    check_type(
        is_number_like(in[i]) || in[i]->global, op.name(), ": '", op.input_def(i, in.size()).name, "', ", in[i],
        ", is an ordinary tensor, but ", *global, " is global, ", global_of(*global)->place->value,
        ". Place it with hw.distribute(tensor, mesh, sbp), or take the other whole with full(). If it is the same on "
        "every process, hw.implicit_broadcast() lets the two meet.");
}

void check_one_mesh(std::span<const Tensor> in, const Mesh& mesh) {
  for (const Tensor& t : in)
    if (const GlobalTensor* g = global_of(t))
      check(g->place->value.mesh == mesh, "the inputs lie on different meshes, ", mesh, " and ", g->place->value.mesh,
            ". Move one of them with to_global(mesh, sbp).");
}

GlobalChoice choose(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out,
                    std::span<const TensorSpec> in_specs, std::span<const TensorSpec> out_specs) {
  const Mesh& mesh = global_of(*first_global(in))->place->value.mesh;
  check_one_mesh(in, mesh);
  GlobalCall call{op, in_specs, attrs, out_specs, mesh, {}, {}};
  for (const Tensor& t : in) call.have.push_back(place_or_null(t));
  for (size_t i = 0; i < out_specs.size(); ++i) call.wanted.push_back(i < out.size() ? place_or_null(out[i]) : nullptr);
  return choose_signature(call);
}

Plan make_plan(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out) {
  std::vector<TensorSpec> specs = specs_of(in);
  Plan plan;
  explained(op, specs, attrs, [&] {
    if (op.kind() == OpKind::View)
      plan.out = {out[0].spec()};
    else
      plan.out = infer_call(op, specs, attrs, out).outputs;
    for (TensorSpec& s : plan.out) s.wrapped = false;
    plan.choice = choose(op, in, attrs, op.kind() == OpKind::View ? std::span<const Tensor>() : out, specs, plan.out);
  });
  return plan;
}

const Plan& plan_of(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out) {
  static thread_local std::unordered_map<uint64_t, Plan> plans;
  Signature key;
  append_signature(key, op, in, attrs, out);
  for (const Tensor& t : in) key.push_back(reinterpret_cast<int64_t>(place_or_null(t)));
  for (const Tensor& t : out) key.push_back(reinterpret_cast<int64_t>(place_or_null(t)));
  const uint64_t hash = hash_signature(key);
  if (plans.size() > 4096) plans.clear();
  Plan& entry = plans[hash];
  if (!(entry.signature == key) || t_fixed_signature) {
    entry.signature.clear();
    entry = make_plan(op, in, attrs, out);
    if (!t_fixed_signature) entry.signature = key;
  }
  return entry;
}

/// Every input as each hosted rank gets it: lists[input][rank]; empty where the tensor itself serves all.
std::vector<Tensors> boxed(std::span<const Tensor> in, const std::vector<const Place*>& places) {
  std::vector<Tensors> lists(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (places[i]) lists[i] = in[i]->global ? boxed_parts(in[i], places[i]) : parts_of_whole(in[i], places[i]);
  return lists;
}

Tensors of_rank(std::span<const Tensor> in, const std::vector<Tensors>& lists, size_t rank) {
  Tensors local(in.begin(), in.end());
  for (size_t i = 0; i < in.size(); ++i)
    if (!lists[i].empty()) local[i] = lists[i][rank];
  return local;
}

/// The attributes of a rank; `room` holds them where they are its own.
const Attrs& attrs_of(const GlobalChoice& choice, const Attrs& attrs, size_t rank, Attrs& room) {
  if (choice.shape_attr < 0 && choice.local_ints.empty()) return attrs;
  room = attrs;
  if (choice.shape_attr >= 0) room[static_cast<size_t>(choice.shape_attr)] = choice.local_shapes[rank];
  if (choice.local_ints.empty()) return room;
  const Ints& changed = choice.local_ints[rank];
  for (size_t i = 0; i < changed.size(); i += 2) room[static_cast<size_t>(changed[i])] = changed[i + 1];
  return room;
}

void check_writable(const OpDef& op, std::span<const Tensor> out) {
  for (const Tensor& t : out) {
    if (!t.defined()) continue;
    const GlobalTensor* g = global_of(t);
    check_type(g, op.name(), ": the result is global and cannot be written into the ordinary tensor ", t);
  }
}

void run_on_ranks(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out,
                  const Plan& plan) {
  const GlobalChoice& c = plan.choice;
  out = out.first(std::min(out.size(), plan.out.size()));  // a rule may leave optional outputs out
  const std::vector<Tensors> lists = boxed(in, c.in);
  if (t_rehearsal && !c.out.empty() && is_meta(c.out[0]->value.mesh)) t_rehearsal->ran(op, in, attrs, plan.out, c);
  std::vector<Tensors> results(out.size());
  std::vector<bool> direct(out.size());
  for (size_t k = 0; k < out.size(); ++k) direct[k] = out[k].defined() && global_of(out[k])->place == c.out[k];
  Attrs room;
  const size_t ranks = c.out.empty() ? 0 : c.out[0]->here.size();
  for (size_t r = 0; r < ranks; ++r) {
    Tensors local = of_rank(in, lists, r), made(out.size());
    for (size_t k = 0; k < out.size(); ++k)
      if (direct[k]) made[k] = parts_of(out[k])[r];
    execute_here(op, local, attrs_of(c, attrs, r, room), made);
    for (size_t k = 0; k < out.size(); ++k) results[k].push_back(std::move(made[k]));
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!out[k].defined())
      out[k] = make_global(plan.out[k], c.out[k], std::move(results[k]));
    else if (direct[k])
      written(out[k]);
    else
      write_parts(out[k], plan.out[k], c.out[k], std::move(results[k]));
  }
}

/// Copies of what each hosted rank holds of a value.
Tensors dealt(const Tensor& whole, const Place* place) {
  static const Op clone{"clone"};
  Tensors parts = parts_of_whole(whole, place);
  for (Tensor& p : parts) {
    Tensor copy;
    execute_here(clone.def(), {&p, 1}, clone.def().default_attrs(), {&copy, 1});
    p = copy;
  }
  return parts;
}

/// Whether a new tensor can be split as the model is: it has the same sizes there. One with strides of its own is for views of any
/// kind.
bool lies_like(const Tensor& t, const Tensor& model, const Placement& near) {
  if (t.ndim() != model.ndim() || !t.contiguous()) return false;
  for (const Sbp& s : near.sbp)
    if (s.is_split() && t.size(s.axis) != model.size(s.axis)) return false;
  return true;
}

/// The element of the whole with which a part begins, where the part is a row of elements of the whole; else -1.
int64_t first_element(const Box& part, const Dims& shape) {
  const Dims strides = contiguous_strides(shape);
  int64_t first = 0;
  bool cut = false;  // an axis before has several elements
  for (size_t a = 0; a < part.size(); ++a) {
    if (cut && part[a].size() != shape[a]) return -1;
    cut = cut || part[a].size() > 1;
    first += part[a].begin * strides[a];
  }
  return first;
}

/// While it lives, draws begin with the number of another element than the first.
struct DrawsFrom {
  explicit DrawsFrom(int64_t element) { t_first_drawn = element; }
  ~DrawsFrom() { t_first_drawn = 0; }
  DrawsFrom(const DrawsFrom&) = delete;
  DrawsFrom& operator=(const DrawsFrom&) = delete;
};

/// normal_ and uniform_ of a tensor whose parts are rows of its elements: each process draws the numbers of its parts only.
bool fill_parts(const OpDef& op, const Attrs& attrs, std::span<Tensor> out) {
  static const OpDef &normal = get_op("normal_"), &uniform = get_op("uniform_");
  if ((&op != &normal && &op != &uniform) || !out[0].defined()) return false;
  if (t_local_recorder) return false;  // a node has no first element of its own; the numbers are the same
  const GlobalTensor& g = *global_of(out[0]);
  const Dims& shape = out[0].shape();
  Ints begins;
  for (int64_t position = 0; position < g.place->value.mesh.size(); ++position) {  // all processes decide alike
    begins.push_back(first_element(local_box(g.place->value, {shape.data(), shape.size()}, position), shape));
    if (begins.back() < 0 || begins.back() % 4) return false;
  }
  if (g.place->value.has_partial()) return false;
  const Tensors parts = parts_of(out[0]);
  for (size_t r = 0; r < parts.size(); ++r) {
    Tensor part = parts[r];
    const DrawsFrom first(begins[static_cast<size_t>(g.place->here[r])]);
    execute_here(op, {&part, 1}, attrs, {&part, 1});
  }
  written(out[0]);
  return true;
}

/// Random numbers are counted by the element's index in the whole: every process draws the whole and keeps its part.
void run_whole(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out,
               const Tensor& model) {
  if (fill_parts(op, attrs, out)) return;
  const Placement near = without_partial(global_of(model)->place->value);
  const Place* whole = place_of(whole_on(near.mesh));
  Tensors local(in.begin(), in.end()), made(out.size());
  bool here = !is_meta(near.mesh);
  for (Tensor& t : local) {
    if (!t.defined() || !t->global) continue;
    const Tensors parts = boxed_parts(t, whole);
    here = !parts.empty();
    if (here) t = parts[0];
  }
  if (here) {
    execute_here(op, local, attrs, made);
  } else {  // the ranks are hosted by other processes
    const std::vector<TensorSpec> specs = infer_call(op, specs_of(in), attrs, {}).outputs;
    for (size_t k = 0; k < out.size(); ++k) made[k] = abstract_tensor(specs[k]);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const Place* place = out[k].defined()                  ? global_of(out[k])->place
                         : lies_like(made[k], model, near) ? place_of(near)
                                                           : whole;
    Tensors parts = dealt(made[k], place);
    if (out[k].defined())
      write_parts(out[k], made[k].spec(), place, std::move(parts));
    else
      out[k] = make_global(made[k].spec(), place, std::move(parts));
  }
}

/// A draw on ranks that are nowhere.
void draw_nothing(const OpDef& op, const Tensor& x, const Attrs& attrs, std::span<Tensor> out, const Place* place) {
  GlobalChoice choice{{place}, std::vector<const Place*>(out.size(), place), -1, {}, {}};
  const std::vector<TensorSpec> specs = infer_call(op, specs_of({&x, 1}), attrs, {}).outputs;
  if (t_rehearsal) t_rehearsal->ran(op, {&x, 1}, attrs, specs, choice);
  for (size_t k = 0; k < out.size(); ++k) out[k] = make_global(specs[k], place, {});
}

/// What a draw gives for any input of this shape.
Tensors drawn_for(const OpDef& op, const Dims& shape, DType dtype, const Attrs& attrs, size_t outputs) {
  // Dense memory whose values do not matter takes the fast kernels; a graph has ones.
  const Tensor one = Tensor::scalar(Scalar(1.0), dtype);
  const Tensor any = t_local_recorder ? one.alias(shape, Dims(shape.size(), 0), 0) : Tensor::empty(shape, dtype);
  Tensors drawn(outputs);
  execute_here(op, {&any, 1}, attrs, drawn);
  return drawn;
}

/// A draw that does not depend on the values of its input, which stays where it is. A part that is a row of the whole's elements is drawn
/// for by itself, others take their share of a draw for the whole.
void run_split_draw(const OpDef& op, const Tensor& x, const Attrs& attrs, std::span<Tensor> out, SplitDraw draw) {
  const Place* place = place_of(without_partial(global_of(x)->place->value));
  const Tensors inputs = boxed_parts(x, place);
  if (is_meta(place->value.mesh)) return draw_nothing(op, x, attrs, out, place);
  const Dims& shape = x.shape();
  std::vector<Tensors> results(out.size()), shares;
  GradModeGuard untracked(false);
  for (size_t r = 0; r < inputs.size(); ++r) {
    const int64_t position = place->here[r];
    const int64_t begin = first_element(local_box(place->value, {shape.data(), shape.size()}, position), shape);
    Tensors y(out.size());
    if (begin >= 0 && begin % 4 == 0 && !t_local_recorder) {
      const DrawsFrom first(begin);
      execute_here(op, {&inputs[r], 1}, attrs, y);
    } else {
      if (shares.empty())
        for (const Tensor& t : drawn_for(op, shape, x.dtype(), attrs, out.size())) shares.push_back(dealt(t, place));
      Tensors mine;
      for (const Tensors& s : shares) mine.push_back(s[r]);
      y = draw(inputs[r], mine, attrs);
    }
    for (size_t k = 0; k < out.size(); ++k) results[k].push_back(std::move(y[k]));
  }
  const std::vector<TensorSpec> specs = infer_call(op, specs_of({&x, 1}), attrs, {}).outputs;
  for (size_t k = 0; k < out.size(); ++k) {
    TensorSpec spec = specs[k];
    spec.wrapped = false;
    spec.strides = contiguous_strides(spec.shape);
    out[k] = make_global(spec, place, std::move(results[k]));
  }
}

/// One value everywhere: each rank makes its part, and the whole is made nowhere.
bool create_parts(const OpDef& op, const Attrs& attrs, std::span<Tensor> out, const Tensor& model) {
  static const OpDef &full = get_op("full"), &empty = get_op("empty");
  if (&op != &full && &op != &empty) return false;
  const Placement near = without_partial(global_of(model)->place->value);
  const TensorSpec spec = infer_call(op, {}, attrs, {}).outputs[0];
  const Place* place = place_of(near);
  if (!lies_like(abstract_tensor(spec), model, near)) return false;
  Tensors parts;
  Attrs local = attrs;
  for (int64_t position : place->here) {
    local[static_cast<size_t>(op.attr_index("size"))] = local_dims(place, spec.shape, position);
    Tensor part;
    execute_here(op, {}, local, {&part, 1});
    parts.push_back(std::move(part));
  }
  out[0] = make_global(spec, place, std::move(parts));
  return true;
}

/// Ops without tensor inputs inside of a composite or a gradient: zeros_like, rand_like.
bool create(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  for (const Tensor& t : in)
    if (t.defined()) return false;
  for (const Tensor& t : out)
    if (t.defined()) return false;
  if (!t_created_like) return false;
  if (!create_parts(op, attrs, out, *t_created_like)) run_whole(op, in, attrs, out, *t_created_like);
  return true;
}

/// Where inputs would have to be moved, and the op can be expressed by others that leave them.
bool run_split_form(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  const SplitForm form = split_form_of(op);
  if (!form || t_fixed_signature || out[0].defined()) return false;
  const GlobalChoice& c = plan_of(op, in, attrs, out).choice;
  bool stays = true;
  for (size_t i = 0; i < in.size(); ++i) stays = stays && (!global_of(in[i]) || global_of(in[i])->place == c.in[i]);
  if (stays) return false;
  GradModeGuard untracked(false);
  std::vector<const Placement*> places;
  for (const Tensor& t : in) places.push_back(global_of(t) ? &global_of(t)->place->value : nullptr);
  Tensors made = form(in, attrs, places);
  if (made.empty()) return false;
  for (size_t k = 0; k < out.size(); ++k) out[k] = made[k];
  return true;
}

/// The axes of the mesh over which rows are dealt, if that is all that is dealt.
bool deals_rows(const Placement& p) {
  bool any = false;
  for (const Sbp& s : p.sbp) {
    if (!(s == split(0)) && !(s == broadcast())) return false;
    any = any || s == split(0);
  }
  return any;
}

/// Rows of each part, by the part's number.
std::vector<int64_t> rows_of_parts(const Placement& p, const Dims& shape, int64_t parts) {
  std::vector<int64_t> rows(static_cast<size_t>(parts));
  for (int64_t position = 0; position < p.mesh.size(); ++position) {
    const int64_t number = local_box(p, std::array{parts}, position)[0].begin;
    rows[static_cast<size_t>(number)] = local_box(p, {shape.data(), shape.size()}, position)[0].size();
  }
  return rows;
}

/// The outputs' parts on the hosted ranks.
std::vector<Tensors> rows_of_ranks(const RowsForm& form, const std::vector<Tensors>& lists, std::span<const Tensor> in,
                                   const Attrs& attrs, const Place* place, const std::vector<int64_t>& rows) {
  GradModeGuard untracked(false);
  const auto parts = static_cast<int64_t>(rows.size());
  std::vector<Tensors> own, results;
  Tensors numbers;
  for (size_t r = 0; r < place->here.size(); ++r) {
    own.push_back(form.before(of_rank(in, lists, r), attrs));
    numbers.push_back(reshape(own.back().back(), {1, -1}));
  }
  if (numbers.empty()) return results;
  TensorSpec spec = numbers[0].spec();
  spec.shape[0] = parts;
  const Tensors all = boxed_parts(make_global(spec, place, std::move(numbers)), place_of(whole_on(place->value.mesh)));
  for (size_t r = 0; r < own.size(); ++r) {
    const int64_t number = local_box(place->value, std::array{parts}, place->here[r])[0].begin;
    Tensors made = form.after(of_rank(in, lists, r), own[r], all[r], rows, number, attrs);
    results.resize(made.size());
    for (size_t k = 0; k < made.size(); ++k) results[k].push_back(std::move(made[k]));
  }
  return results;
}

/// Rows stay where they are; each rank's few numbers go to all.
bool run_rows_form(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  const RowsForm* form = rows_form_of(op);
  if (!form || t_fixed_signature || out[0].defined() || !global_of(in[form->like])) return false;
  const Tensor& x = in[form->like];
  const Place* place = global_of(x)->place;
  if (!deals_rows(place->value)) return false;
  int64_t parts = 1;
  for (size_t a = 0; a < place->value.sbp.size(); ++a)
    if (place->value.sbp[a] == split(0)) parts *= place->value.mesh.shape[a];
  const std::vector<int64_t> rows = rows_of_parts(place->value, x.shape(), parts);
  for (int64_t n : rows)  // each part must have statistics of its own
    if (n * x.numel() <= x.size(0) * x.size(1)) return false;
  const Place* whole = place_of(whole_on(place->value.mesh));
  const std::vector<TensorSpec> specs = infer_call(op, specs_of(in), attrs, {}).outputs;
  std::vector<const Place*> lie_in, lie_out;
  for (const Tensor& t : in) lie_in.push_back(!t.defined() || !t->global ? nullptr : t.ndim() > 1 ? place : whole);
  for (const TensorSpec& s : specs) lie_out.push_back(s.ndim() > 1 ? place : whole);
  const std::vector<Tensors> lists = boxed(in, lie_in);
  if (t_rehearsal && is_meta(place->value.mesh)) {
    t_rehearsal->ran(op, in, attrs, specs, {lie_in, lie_out, -1, {}, {}});
    t_rehearsal->moved(place, whole, {parts, 2 * x.size(1)}, DType::F32);
  }
  const std::vector<Tensors> results = rows_of_ranks(*form, lists, in, attrs, place, rows);
  for (size_t k = 0; k < out.size(); ++k) {
    TensorSpec spec = specs[k];
    spec.wrapped = false;
    spec.strides = contiguous_strides(spec.shape);
    out[k] = make_global(spec, lie_out[k], results.empty() ? Tensors() : results[k]);
  }
  return true;
}

bool execute_global(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  static const OpDef& boxing = get_op("_boxing");
  if (&op == &boxing) {
    run_boxing(in[0], attrs, out);
    return true;
  }
  const Tensor* model = first_global(in);
  if (!model) return create(op, in, attrs, out);
  check_mix(op, in);
  check_writable(op, out);
  const SplitDraw draw = op.is_random() && !out[0].defined() ? split_draw_of(op) : nullptr;
  if (draw)
    run_split_draw(op, in[0], attrs, out, draw);
  else if (op.is_random())
    run_whole(op, in, attrs, out, *model);
  else if (!run_rows_form(op, in, attrs, out) && !run_split_form(op, in, attrs, out))
    run_on_ranks(op, in, attrs, out, plan_of(op, in, attrs, out));
  return true;
}

bool view_global(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) {
  const GlobalTensor* x = global_of(in[0]);
  if (!x) return false;
  view_here(op, in, attrs, out);  // the logical one: its errors, its place in the storage
  const GlobalChoice& c = plan_of(op, in, attrs, out).choice;
  Attrs room;
  std::vector<Attrs> local;
  if (c.shape_attr >= 0)
    for (size_t r = 0; r < c.local_shapes.size(); ++r) local.push_back(attrs_of(c, attrs, r, room));
  make_global_view(out[0], in[0], {in[0], &op, attrs, c.in[0], std::move(local)}, c.out[0]);
  track_view(out[0], in[0]);
  return true;
}

constexpr GlobalHook kHook{&execute_global, &view_global, &check_mix};

}  // namespace

void use_global_tensors() { g_global_hook.store(&kHook, std::memory_order_relaxed); }

}  // namespace hw
