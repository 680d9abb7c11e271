// Meshes, SBP and global tensors for Python.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "autograd/node.h"
#include "bind/bind.h"
#include "core/read_guard.h"
#include "eager/global/boxing.h"
#include "eager/global/choose.h"
#include "eager/global/sums.h"
#include "eager/global/world.h"
#include "eager/global_hook.h"
#include "op/created_like.h"
#include "op/math.h"
#include "sbp/transfer.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

std::vector<Sbp> sbp_list(nb::handle given) {
  std::vector<Sbp> list;
  if (nb::isinstance<Sbp>(given)) return {nb::cast<Sbp>(given)};
  check_type(
      PySequence_Check(given.ptr()) && !PyUnicode_Check(given.ptr()),
      "sbp must be hw.split(axis), hw.broadcast, hw.partial_sum, or a list with one of them for each axis of the "
      "mesh, got ",
      Py_TYPE(given.ptr())->tp_name);
  for (nb::handle item : nb::borrow<nb::sequence>(given)) {
    check_type(nb::isinstance<Sbp>(item), "sbp must be a list of hw.split(axis), hw.broadcast, hw.partial_sum, got ",
               Py_TYPE(item.ptr())->tp_name, " in it");
    list.push_back(nb::cast<Sbp>(item));
  }
  return list;
}

const Place* place_from(const Mesh& mesh, nb::handle sbp, int64_t ndim) {
  return place_of(make_placement(mesh, sbp_list(sbp), ndim));
}

Tensors tensors_from(nb::handle list) {
  Tensors out;
  for (nb::handle item : nb::borrow<nb::sequence>(list))
    out.push_back(detach(tensor_argument(item.ptr(), "from_local")));
  return out;
}

nb::object object_of(const Tensor& t) { return nb::steal(wrap(t)); }

const GlobalTensor& global_argument(const Tensor& t, const char* what) {
  check_runtime(static_cast<bool>(t->global), what, ": ", t,
                " is an ordinary tensor; hw.distribute(tensor, mesh, sbp) makes it global");
  return *global_of(t);
}

nb::object to_global(nb::handle self, const Mesh& mesh, nb::handle sbp) {
  const Tensor& t = tensor_argument(self.ptr(), "to_global");
  return object_of(to_place(t, place_from(mesh, sbp, t.ndim())));
}

/// Parts of this process as one global tensor; their sizes along split axes add up.
nb::object from_local(nb::handle given, const Mesh& mesh, nb::handle sbp, nb::handle shape) {
  use_global_tensors();
  Tensors parts = tensors_from(given);
  check(!parts.empty(), "from_local: the list of parts is empty");
  check(world().processes == 1 || !shape.is_none(),
        "from_local: give the shape of the whole, of which other processes hold parts");
  const Place* place = place_from(mesh, sbp, parts[0].ndim());
  Dims whole = parts[0].shape();
  if (!shape.is_none()) {
    whole = ints_from(shape.ptr(), "shape");
  } else {
    for (size_t a = 0; a < whole.size(); ++a) {  // along one line of the mesh that splits the axis
      int64_t sum = 0;
      bool cut = false;
      for (size_t p = 0; p < parts.size(); ++p) {
        const Ints at = mesh.coordinates(place->here[p]);
        bool counts = true;
        for (size_t m = 0; m < at.size(); ++m) {
          const bool splits = place->value.sbp[m] == split(static_cast<int64_t>(a));
          cut = cut || splits;
          counts = counts && (splits || at[m] == 0);
        }
        if (counts && parts[p].ndim() == parts[0].ndim()) sum += parts[p].shape()[a];
      }
      if (cut) whole[a] = sum;
    }
  }
  check_parts(whole, place, parts);
  if (!t_local_recorder)
    for (const Tensor& t : parts) check_has_memory(t, "from_local");
  TensorSpec spec = parts[0].spec();
  spec.shape = whole;
  spec.strides = contiguous_strides(whole);
  return object_of(make_global(spec, place, std::move(parts)));
}

nb::object local_parts(nb::handle self) {
  const GlobalTensor& g = global_argument(tensor_argument(self.ptr(), "to_local"), "to_local");
  nb::list out;
  const Tensors parts = parts_of(tensor_argument(self.ptr(), "to_local"));
  for (size_t i = 0; i < parts.size(); ++i)
    out.append(
        nb::make_tuple(g.place->value.mesh.ranks[static_cast<size_t>(g.place->here[i])], object_of(detach(parts[i]))));
  return out;
}

/// Which box of a tensor each hosted rank holds: [(rank, [(begin, end), ...]), ...].
nb::object hosted_boxes(const Mesh& mesh, nb::handle sbp, nb::handle given) {
  const Dims shape = ints_from(given.ptr(), "shape");
  const Place* place = place_from(mesh, sbp, static_cast<int64_t>(shape.size()));
  nb::list out;
  for (int64_t position : place->here) {
    nb::list box;
    for (const Interval& i : local_box(place->value, {shape.data(), shape.size()}, position))
      box.append(nb::make_tuple(i.begin, i.end));
    out.append(nb::make_tuple(mesh.ranks[static_cast<size_t>(position)], box));
  }
  return out;
}

/// The signatures of a call as text: "S(0), B -> S(0)".
SbpSignature signature_from(nb::handle inputs, nb::handle outputs) { return {sbp_list(inputs), sbp_list(outputs)}; }

/// While it lives, calls of one op on global tensors run under one signature for each mesh axis.
struct Fixing {
  FixedSignature fixed;
  const FixedSignature* before = nullptr;
  void enter() { before = std::exchange(t_fixed_signature, &fixed); }
  void leave() { t_fixed_signature = before; }
};

/// While it lives, tensors made from nothing lie where `like` does; without one they are ordinary, also within a gradient of global
/// tensors.
struct CreatedLike {
  Tensor like;
  const Tensor* before = nullptr;
};

/// Messages by a Python function: exchange({process: bytes}, {process: size}) -> {process: bytes}.
class PythonMessenger final : public Messenger {
 public:
  explicit PythonMessenger(nb::callable f) : f_(std::move(f)) {}
  void exchange(std::span<const Parcel> out, std::span<Parcel> in) override {
    const nb::gil_scoped_acquire lock;  // programs on streams run without it
    nb::dict sent, sizes;
    for (const Parcel& p : out) {
      std::string bytes;
      for (const Parcel::Piece& piece : p.pieces) bytes.append(static_cast<const char*>(piece.data), piece.bytes);
      sent[nb::int_(p.process)] = nb::bytes(bytes.data(), bytes.size());
    }
    for (const Parcel& p : in) {
      size_t size = 0;
      for (const Parcel::Piece& piece : p.pieces) size += piece.bytes;
      sizes[nb::int_(p.process)] = size;
    }
    nb::dict got = nb::cast<nb::dict>(f_(sent, sizes));
    for (Parcel& p : in) {
      nb::bytes bytes = nb::cast<nb::bytes>(got[nb::int_(p.process)]);
      check_runtime(bytes.size() == nb::cast<size_t>(sizes[nb::int_(p.process)]), "process ", p.process, " sent ",
                    bytes.size(), " bytes; the processes do not run the same program");
      const char* at = static_cast<const char*>(bytes.data());
      for (const Parcel::Piece& piece : p.pieces) {
        std::memcpy(piece.data, at, piece.bytes);
        at += piece.bytes;
      }
    }
  }

 private:
  nb::callable f_;
};

void bind_world(nb::module_& m) {
  m.def("join_world", [](int process, int processes, int64_t ranks, nb::callable exchange) {
    join_world(process, processes, ranks, std::make_unique<PythonMessenger>(std::move(exchange)));
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { world().messenger.reset(); }));
  });
  m.def("world", [] { return nb::make_tuple(world().process, world().processes, world().ranks_each); });
}

void bind_mesh(nb::module_& m) {
  nb::class_<Mesh>(m, "Mesh", "Ranks arranged in a grid with named axes.")
      .def_prop_ro(
          "device", [](const Mesh& s) { return s.device; }, "The type of the devices.")
      .def_prop_ro(
          "shape", [](const Mesh& s) { return nb::steal(ints_tuple(s.shape)); }, "Ranks along each axis.")
      .def_prop_ro(
          "names", [](const Mesh& s) { return nb::tuple(nb::cast(s.names)); }, "The names of the axes.")
      .def_prop_ro(
          "ranks", [](const Mesh& s) { return s.ranks; }, "The ranks in row-major order.")
      .def_prop_ro("ndim", &Mesh::ndim, "The number of axes.")
      .def_prop_ro("size", &Mesh::size, "The number of ranks.")
      .def(
          "part",
          [](const Mesh& s, nb::handle axis, int64_t index) {
            const bool named = PyUnicode_Check(axis.ptr());
            return s.part(named ? s.axis_of(nb::cast<std::string>(axis)) : int_from(axis.ptr(), "axis"), index);
          },
          nb::arg("axis"), nb::arg("index"), "The ranks whose place on `axis` is `index`, as a mesh of the other axes.")
      .def("__eq__",
           [](const Mesh& a, nb::handle b) { return nb::isinstance<Mesh>(b) && a == nb::cast<const Mesh&>(b); })
      .def("__hash__", [](const Mesh& s) { return nb::hash(nb::str(text(s).c_str())); })
      .def("__repr__", [](const Mesh& s) { return text("<mesh ", s, ">"); });
  m.def("make_mesh",
        [](const std::string& device, nb::handle shape, const std::vector<std::string>& names, Ints ranks) {
          Dims sizes = ints_from(shape.ptr(), "shape");
          return make_mesh(device, Ints(sizes.begin(), sizes.end()), names, std::move(ranks));
        });
}

void bind_sbp(nb::module_& m) {
  nb::class_<Sbp>(m, "Sbp", "How a tensor lies on one axis of a mesh: split, broadcast or partial.")
      .def_prop_ro(
          "axis", [](const Sbp& s) { return s.is_split() ? nb::object(nb::int_(s.axis)) : nb::none(); },
          "The axis of a split, else None.")
      .def_prop_ro("is_split", &Sbp::is_split, "Whether each rank holds a slice.")
      .def_prop_ro(
          "is_broadcast", [](const Sbp& s) { return s == broadcast(); }, "Whether each rank holds the whole.")
      .def_prop_ro("is_partial", &Sbp::is_partial, "Whether the whole is the sum, maximum or minimum of the parts.")
      .def("__eq__", [](const Sbp& a, nb::handle b) { return nb::isinstance<Sbp>(b) && a == nb::cast<const Sbp&>(b); })
      .def("__hash__", [](const Sbp& s) { return nb::hash(nb::str(text(s).c_str())); })
      .def("__repr__", [](const Sbp& s) { return text(s); });
  m.def("sbp_split", [](int64_t axis) { return split(axis); });
  m.attr("sbp_broadcast") = nb::cast(broadcast());
  m.attr("sbp_partial_sum") = nb::cast(partial_sum());
  m.attr("sbp_partial_max") = nb::cast(partial_max());
  m.attr("sbp_partial_min") = nb::cast(partial_min());
  nb::class_<Fixing>(m, "FixedSignature").def("__enter__", &Fixing::enter).def("__exit__", [](Fixing& f, nb::args) {
    f.leave();
  });
  nb::class_<CreatedLike>(m, "CreatedLike")
      .def(
          "__init__",
          [](CreatedLike* self, nb::handle like) {
            new (self) CreatedLike{like.is_none() ? Tensor() : tensor_argument(like.ptr(), "CreatedLike"), nullptr};
          },
          nb::arg("like").none())
      .def("__enter__",
           [](CreatedLike& c) { c.before = std::exchange(t_created_like, c.like.defined() ? &c.like : nullptr); })
      .def("__exit__", [](CreatedLike& c, nb::args) { t_created_like = c.before; });
  m.def("fix_signature", [](const std::string& op, nb::sequence axes) {
    Fixing f;
    f.fixed.op = &get_op(op);
    for (nb::handle axis : axes) f.fixed.axes.push_back(signature_from(axis[0], axis[1]));
    return f;
  });
}

}  // namespace

void bind_global(nb::module_& m) {
  bind_mesh(m);
  bind_world(m);
  bind_sbp(m);
  m.def("to_global", &to_global);
  m.def("from_local", &from_local, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("count_implicit_broadcast", [](int by) { t_implicit_broadcast += by; });
  m.def("set_apart", &set_apart,
        "Names what only the processes of a mesh work on; '' ends it. Returns what was named before.");
  m.def(
      "defer_sums", [](bool yes) { return std::exchange(t_defer_sums, yes); },
      "Whether gradients of leaves stay partial sums. Returns what was set before.");
  m.def(
      "sum_gradients",
      [](nb::handle leaves) {
        Tensors given;
        for (nb::handle item : nb::borrow<nb::sequence>(leaves))
          given.push_back(tensor_argument(item.ptr(), "sum_gradients"));
        nb::list rest;
        for (const Tensor& t : sum_gradients(given)) rest.append(object_of(t));
        return rest;
      },
      "Sums the partial gradients of leaves over processes, together; returns the leaves for which it does not.");
  m.def("local_parts", &local_parts);
  m.def("hosted_boxes", &hosted_boxes);
  m.def("set_gradient_sbp", [](nb::handle leaf, nb::handle sbp) {
    const Tensor& t = tensor_argument(leaf.ptr(), "set_gradient_sbp");
    const Mesh& mesh = global_argument(t, "set_gradient_sbp").place->value.mesh;
    global_of(t)->gradient = place_from(mesh, sbp, t.ndim());
  });
  m.def("full", [](nb::handle t) { return object_of(whole_of(tensor_argument(t.ptr(), "full"))); });
  m.def("is_global", [](nb::handle t) { return bool(tensor_argument(t.ptr(), "is_global")->global); });
  m.def("mesh_of",
        [](nb::handle t) { return global_argument(tensor_argument(t.ptr(), "mesh"), "mesh").place->value.mesh; });
  m.def("sbp_of",
        [](nb::handle t) { return global_argument(tensor_argument(t.ptr(), "sbp"), "sbp").place->value.sbp; });
}

}  // namespace hw::bind
