// The choice of signatures, mesh axis by mesh axis.
#include "eager/global/choose.h"

#include <algorithm>

#include "base/error.h"
#include "op/rules.h"
#include "op/split_form.h"
#include "sbp/transfer.h"

namespace hw {

namespace {

struct Candidate {
  const SbpSignature* signature;
  double bytes = 0;
  int changes = 0;  // inputs that must be boxed, even where that moves nothing
};

class Chooser {
 public:
  explicit Chooser(const GlobalCall& call) : call_(call), axes_(call.mesh.shape.size()) {
    legal_ = sbp_signatures({call.op, call.in, call.attrs, compute_dtype(call.op, call.in)}, call.out);
    chosen_.assign(axes_, legal_[0]);
    shape_attr_ = find_shape_attr();
    rank_attrs_ = rank_attrs_of(call.op);
  }

  GlobalChoice run() {
    if (t_fixed_signature && t_fixed_signature->op == &call_.op)
      use_fixed();
    else
      for (size_t axis = 0; axis < axes_; ++axis) choose_axis(axis);
    return result();
  }

 private:
  void choose_axis(size_t axis) {
    std::vector<Candidate> list;
    for (const SbpSignature& s : legal_) list.push_back(judged(s, axis));
    std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.changes < b.changes;
    });
    for (const Candidate& c : list) {
      chosen_[axis] = *c.signature;
      if (c.signature == &legal_[0] || fits()) return;
    }
  }

  /// Whether some input of the call, or where its result is to lie, is split on this axis of the mesh.
  bool any_split(size_t axis) const {
    auto is_split = [&](const Place* p) { return p && p->value.sbp[axis].is_split(); };
    return std::any_of(call_.have.begin(), call_.have.end(), is_split) ||
           std::any_of(call_.wanted.begin(), call_.wanted.end(), is_split);
  }

  Candidate judged(const SbpSignature& s, size_t axis) const {
    Candidate c{&s};
    auto moved = [&](const Sbp& from, const Sbp& to, const TensorSpec& spec, const Placement& lies) {
      double bytes = static_cast<double>(spec.numel() * dtype_size(spec.dtype));
      for (size_t a = 0; a < axes_; ++a)
        if (a != axis && lies.sbp[a].is_split()) bytes /= static_cast<double>(call_.mesh.shape[a]);
      return boxing_bytes(from, to, bytes, call_.mesh.shape[axis]);
    };
    auto count = [&](const Sbp& from, const Sbp& to, const TensorSpec& spec, const Placement& lies) {
      c.bytes += moved(from, to, spec, lies);
      c.changes += !(from == to);
    };
    for (size_t i = 0; i < call_.in.size(); ++i)
      if (const Place* p = call_.have[i])
        count(p->value.sbp[axis], s.inputs[i], call_.in[i], p->value);
      else if (call_.in[i].given())
        c.changes += !(s.inputs[i] == broadcast());
    for (size_t i = 0; i < call_.out.size(); ++i)
      if (const Place* p = call_.wanted[i]) count(s.outputs[i], p->value.sbp[axis], call_.out[i], p->value);
    // A sum that is scattered here is gathered by whoever meets it beside a whole tensor: that is where it came from.
    const auto model = std::find_if(call_.have.begin(), call_.have.end(), [](const Place* p) { return p != nullptr; });
    if (c.bytes > 0 && model != call_.have.end() && !any_split(axis))
      for (size_t i = 0; i < call_.out.size(); ++i)
        if (s.outputs[i].is_split()) c.bytes += moved(s.outputs[i], broadcast(), call_.out[i], (*model)->value);
    return c;
  }

  Placement input_place(size_t i) const { return place(i, true); }
  Placement output_place(size_t i) const { return place(i, false); }
  Placement place(size_t i, bool input) const {
    Placement p{call_.mesh, {}};
    for (const SbpSignature& s : chosen_) p.sbp.push_back(input ? s.inputs[i] : s.outputs[i]);
    return p;
  }

  /// Whether the parts that the ranks compute have the shapes of the parts that the outputs' placement asks for.
  bool fits() const {
    std::vector<Ints> seen;
    for (int64_t position = 0; position < call_.mesh.size(); ++position) {
      Ints shapes;
      std::vector<TensorSpec> in(call_.in.begin(), call_.in.end());
      for (size_t i = 0; i < in.size(); ++i) {
        if (!in[i].given()) continue;
        in[i].shape = local(input_place(i), in[i].shape, position);
        in[i].strides = contiguous_strides(in[i].shape);
        shapes.insert(shapes.end(), in[i].shape.begin(), in[i].shape.end());
      }
      if (std::find(seen.begin(), seen.end(), shapes) != seen.end() && shape_attr_ < 0 && !rank_attrs_) continue;
      seen.push_back(std::move(shapes));
      if (!fits_at(in, position)) return false;
    }
    return true;
  }

  bool fits_at(std::span<const TensorSpec> in, int64_t position) const {
    std::vector<Dims> want;
    for (size_t i = 0; i < call_.out.size(); ++i) want.push_back(local(output_place(i), call_.out[i].shape, position));
    Attrs attrs = call_.attrs;
    if (shape_attr_ >= 0) attrs[static_cast<size_t>(shape_attr_)] = want[0];
    if (rank_attrs_) set_rank_attrs(attrs, position);
    try {
      if (call_.op.kind() == OpKind::View) return call_.op.view_rule()(in[0], attrs).shape == want[0];
      std::vector<TensorSpec> got = infer_outputs({call_.op, in, attrs, compute_dtype(call_.op, in)});
      for (size_t i = 0; i < got.size(); ++i)
        if (!(got[i].shape == want[i])) return false;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  static Dims local(const Placement& p, const Dims& shape, int64_t position) {
    Dims out;
    for (int64_t n : local_shape(p, {shape.data(), shape.size()}, position)) out.push_back(n);
    return out;
  }

  void set_rank_attrs(Attrs& attrs, int64_t position) const {
    auto boxes = [&](std::span<const TensorSpec> specs, bool input) {
      std::vector<Box> list(specs.size());
      for (size_t i = 0; i < specs.size(); ++i)
        if (specs[i].given())
          list[i] = local_box(place(i, input), {specs[i].shape.data(), specs[i].shape.size()}, position);
      return list;
    };
    rank_attrs_(boxes(call_.in, true), boxes(call_.out, false), attrs);
  }

  Ints rank_ints(int64_t position) const {
    Attrs attrs = call_.attrs;
    set_rank_attrs(attrs, position);
    Ints changed;
    for (size_t i = 0; i < attrs.size(); ++i)
      if (attrs[i].kind() == AttrValue::Kind::Int && attrs[i].i64() != call_.attrs[i].i64()) {
        changed.push_back(static_cast<int64_t>(i));
        changed.push_back(attrs[i].i64());
      }
    return changed;
  }

  /// By convention an attribute `shape` or `size` that equals the shape of the first output is that shape, and each rank gets its own.
  int find_shape_attr() const {
    for (const char* name : {"shape", "size"}) {
      const int i = call_.op.attr_index(name);
      if (i < 0 || call_.attrs[static_cast<size_t>(i)].kind() != AttrValue::Kind::Ints) continue;
      const Dims &given = call_.attrs[static_cast<size_t>(i)].ints(), &shape = call_.out[0].shape;
      bool same = given.size() == shape.size();
      for (size_t a = 0; same && a < given.size(); ++a) same = given[a] == shape[a] || given[a] == -1;
      if (same) return i;
    }
    return -1;
  }

  void use_fixed() {
    const FixedSignature& fixed = *t_fixed_signature;
    check(fixed.axes.size() == axes_, "the mesh ", call_.mesh, " has ", axes_, " axes, but signatures for ",
          fixed.axes.size(), " are given");
    for (size_t a = 0; a < axes_; ++a) {
      bool legal = std::find(legal_.begin(), legal_.end(), fixed.axes[a]) != legal_.end();
      check(legal, "SBP '", fixed.axes[a], "' is not legal here; ", choices());
      chosen_[a] = fixed.axes[a];
    }
    check(fits(), "SBP '", fixed.axes[0], "' cannot split these sizes over ", call_.mesh,
          " so that the parts of the result are those of its placement; ", choices());
  }

  std::string choices() const {
    std::string out = "legal are: ";
    for (size_t i = 0; i < legal_.size(); ++i) out.append(text(i ? "; " : "", legal_[i]));
    return out;
  }

  GlobalChoice result() const {
    GlobalChoice r;
    for (size_t i = 0; i < call_.in.size(); ++i) {
      const bool plain = !call_.have[i] && input_place(i).is_whole();  // the tensor itself serves every rank
      r.in.push_back(call_.in[i].given() && !plain ? place_of(input_place(i)) : nullptr);
    }
    for (size_t i = 0; i < call_.out.size(); ++i) r.out.push_back(place_of(output_place(i)));
    if (rank_attrs_)
      for (int64_t position : r.out[0]->here) r.local_ints.push_back(rank_ints(position));
    if (shape_attr_ < 0 || r.out.empty() || r.out[0]->value.is_whole()) return r;
    r.shape_attr = shape_attr_;
    for (int64_t position : r.out[0]->here)
      r.local_shapes.push_back(local_dims(r.out[0], call_.out[0].shape, position));
    return r;
  }

  const GlobalCall& call_;
  const size_t axes_;
  std::vector<SbpSignature> legal_, chosen_;
  int shape_attr_ = -1;
  RankAttrs rank_attrs_ = nullptr;
};

}  // namespace

GlobalChoice choose_signature(const GlobalCall& call) { return Chooser(call).run(); }

}  // namespace hw
