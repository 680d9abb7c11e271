// Autograd for Python: backward, grad, modes, hooks and custom functions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <set>
#include <unordered_set>

#include "autograd/accumulate.h"
#include "autograd/backward.h"
#include "autograd/mode.h"
#include "autograd/record.h"
#include "bind/bind.h"
#include "eager/autocast.h"
#include "op/math.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

Tensors tensors_from(nb::handle list, bool allow_none) {
  Tensors out;
  for (nb::handle item : nb::borrow<nb::sequence>(list)) {
    if (item.is_none() && allow_none)
      out.emplace_back();
    else
      out.push_back(tensor_from(item.ptr(), "tensors"));
  }
  return out;
}

nb::object tuple_of(const Tensors& list) {
  Owned tuple(own(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(list[i]));
  return nb::steal(tuple.take());
}

struct PythonHook final : GradHook {
  explicit PythonHook(nb::object f) : f(std::move(f)) {}
  ~PythonHook() override {
    nb::gil_scoped_acquire gil;
    f.reset();
  }
  Tensor call(const Tensor& gradient) override {
    if (!f.is_valid()) return {};  // cleared by the garbage collector
    Owned g(wrap(gradient));
    Owned result(own(PyObject_CallOneArg(f.ptr(), g.get())));
    if (result.get() == Py_None) return {};
    check_type(is_tensor(result.get()), "a gradient hook must return a Tensor or None, got ",
               Py_TYPE(result.get())->tp_name);
    return tensor_of(result.get());
  }
  nb::object f;
};

struct HookHandle {
  Ref<GradHook> hook;
  void remove() { hook->removed = true; }
};

class PythonNode;
thread_local PythonNode* t_running = nullptr;  // whose backward is being called

/// A node whose gradient is computed by a Python callable: f(*gradients) -> sequence of gradients or None.
class PythonNode final : public GradNode {
 public:
  PythonNode(nb::object f, std::string name) : f_(std::move(f)), name_(std::move(name)) {}
  ~PythonNode() override {
    nb::gil_scoped_acquire gil;
    f_.reset();
  }
  std::string_view name() const override { return name_; }
  bool released() const override { return !f_.is_valid(); }
  Tensors apply(std::span<const Tensor> dy, bool keep) override {
    check_runtime(static_cast<bool>(f_), "the graph behind ", name_,
                  " was already used for a backward pass and freed; pass retain_graph=True the first time");
    nb::object args = tuple_of(Tensors(dy.begin(), dy.end()));
    PythonNode* before = std::exchange(t_running, this);
    Owned result(PyObject_CallObject(f_.ptr(), args.ptr()));
    t_running = before;
    if (!result) throw PythonError{};
    if (!keep) f_.reset();
    Tensors out;
    if (is_tensor(result.get()) || result.get() == Py_None)
      out.push_back(result.get() == Py_None ? Tensor() : tensor_of(result.get()));
    else
      out = tensors_from(nb::handle(result.get()), true);
    check_runtime(out.size() == next.size(), name_, ": backward returned ", static_cast<int64_t>(out.size()),
                  " gradients for ", static_cast<int64_t>(next.size()), " inputs");
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i].defined() && next[i].node) out[i] = fitting(out[i], next[i].node->outputs[next[i].slot], i);
    return out;
  }

  nb::object& function() { return f_; }

 private:
  /// What a user's backward returns, in the dtype of the input and summed to its shape.
  Tensor fitting(const Tensor& g, const OutputInfo& want, size_t i) const {
    bool fits = g.shape() == want.shape;
    if (!fits && g.ndim() >= static_cast<int64_t>(want.shape.size())) try {
        fits = broadcast_shapes(g.shape(), want.shape) == g.shape();
      } catch (const Error&) {
      }
    check_runtime(fits, name_, ": backward returned a gradient ", g, " for input ", static_cast<int64_t>(i),
                  ", which is ", want.dtype, want.shape);
    check_runtime(is_complex(want.dtype) || !is_complex(g.dtype()), name_,
                  ": backward returned a complex gradient for input ", static_cast<int64_t>(i), ", which is real");
    return to(sum_to(g, want.shape), want.dtype);
  }

  nb::object f_;
  std::string name_;
};

/// Gives `outputs` a history: gradients go through `backward` to `inputs`.
void attach_function(nb::handle outputs, nb::handle inputs, nb::object backward, const std::string& name) {
  Tensors in = tensors_from(inputs, true), out = tensors_from(outputs, true);
  auto node = make_ref<PythonNode>(std::move(backward), name);
  for (const Tensor& t : in) node->next.push_back(gradient_edge(t));
  for (const Tensor& t : out)
    node->outputs.push_back(t.defined() ? GradNode::OutputInfo{t.dtype(), t.shape()} : GradNode::OutputInfo{});
  if (t_grad_mode.anomaly) node->origin = origin_text();
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].defined() && is_inexact(out[i].dtype())) set_history(out[i], node, static_cast<uint32_t>(i));
}

/// Calls f(object&) for the Python object of a hook or a node, if it has one.
template <class F>
int each_object(RefCounted* owner, F&& f) {
  if (auto* hook = dynamic_cast<PythonHook*>(owner)) return f(hook->f);
  if (auto* node = dynamic_cast<PythonNode*>(owner)) return f(node->function());
  return 0;
}

/// The hooks and nodes that are reached from `t` alone.
template <class F>
int each_owned(const Tensor& t, F&& f) {
  GradMeta* m = t.defined() && t->use_count() == 1 ? grad_meta(t) : nullptr;
  if (!m) return 0;
  for (auto* hooks : {&m->hooks, &m->post_hooks})
    for (Ref<GradHook>& h : *hooks)
      if (int stop = each_object(h.get(), f)) return stop;
  if (!m->fn || m->fn->use_count() != 1) return 0;
  for (GradNode::SlotHook& h : m->fn->hooks)
    if (int stop = each_object(h.hook.get(), f)) return stop;
  return each_object(m->fn.get(), f);
}

/// In backward: a saved output with its history, which is the running node; elsewhere as it is.
nb::object output_in_backward(nb::handle h, uint32_t slot) {
  const Tensor& t = tensor_argument(h.ptr(), "output_in_backward");
  if (!t_running || !grad_mode().enabled || slot >= t_running->outputs.size()) return nb::steal(wrap(t));
  Tensor output = t.alias();
  set_history(output, Ref<GradNode>(t_running), slot);
  return nb::steal(wrap(output));
}

/// Whether a backward pass from here would meet a node whose values were given up.
bool graph_released(const Ref<GradNode>& root) {
  std::vector<GradNode*> stack;
  std::unordered_set<GradNode*> seen;
  if (root) stack.push_back(root.get());
  while (!stack.empty()) {
    GradNode* node = stack.back();
    stack.pop_back();
    if (node->released()) return true;
    for (const GradNode::Edge& e : node->next)
      if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
  }
  return false;
}

/// The leaves that the tape behind `roots` ends in. Throws for a node that was recorded before `since`: a way out of what is looked at.
Tensors tape_leaves(std::span<const Tensor> roots, uint64_t since) {
  std::vector<GradNode*> stack;
  std::unordered_set<GradNode*> seen;
  Tensors leaves;
  auto push = [&](const Ref<GradNode>& node) {
    if (node && seen.insert(node.get()).second) stack.push_back(node.get());
  };
  std::vector<Ref<GradNode>> kept;  // an accumulator that only its edge holds
  for (const Tensor& t : roots) {
    kept.push_back(gradient_edge(t).node);
    push(kept.back());
  }
  while (!stack.empty()) {
    GradNode* node = stack.back();
    stack.pop_back();
    if (node->is_accumulator()) {
      leaves.push_back(leaf_of(*node));
      continue;
    }
    check_runtime(node->sequence() >= since, "it depends on the result of ", node->name(),
                  ", which was computed before and is no argument");
    for (const GradNode::Edge& e : node->next) push(e.node);
  }
  return leaves;
}

nb::object g_origin;  // a Python callable
std::string python_origin() {
  if (!g_origin.is_valid()) return {};
  Owned s(PyObject_CallNoArgs(g_origin.ptr()));
  if (!s) {
    PyErr_Clear();
    return {};
  }
  return utf8(s.get());
}

}  // namespace

int visit_graph(const Tensor& t, visitproc visit, void* arg) {
  return each_owned(t, [&](nb::object& o) { return o.is_valid() ? visit(o.ptr(), arg) : 0; });
}

void clear_graph(const Tensor& t) {
  each_owned(t, [](nb::object& o) {
    o.reset();
    return 0;
  });
}

void bind_autograd(nb::module_& m) {
  m.def("backward", [](nb::handle roots, nb::handle gradients, bool retain, bool create, nb::handle inputs) {
    Tensors r = tensors_from(roots, false), g = tensors_from(gradients, true), i = tensors_from(inputs, false);
    backward(r, g, retain, create, i);
  });
  m.def("grad",
        [](nb::handle roots, nb::handle gradients, nb::handle inputs, bool retain, bool create, bool allow_unused) {
          return tuple_of(grad(tensors_from(roots, false), tensors_from(gradients, true), tensors_from(inputs, false),
                               retain, create, allow_unused));
        });
  m.def("graph_released", [](nb::handle t) { return graph_released(grad_fn(tensor_of(t.ptr()))); });
  m.def("tape_position", [] { return make_ref<PythonNode>(nb::object(), "position")->sequence(); });
  m.def("tape_leaves",
        [](nb::handle roots, uint64_t since) { return tuple_of(tape_leaves(tensors_from(roots, false), since)); });
  m.def("is_grad_enabled", [] { return grad_mode().enabled; });
  m.def("set_grad_enabled", [](bool on) { return std::exchange(grad_mode().enabled, on); });
  m.def("is_inference_mode", [] { return grad_mode().inference; });
  m.def("set_inference_mode", [](bool on) { return std::exchange(grad_mode().inference, on); });
  m.def("is_anomaly_enabled", [] { return grad_mode().anomaly; });
  m.def("set_anomaly", [](bool on) { return std::exchange(grad_mode().anomaly, on); });
  m.def("set_origin", [](nb::object f) {
    g_origin = std::move(f);
    set_origin_text(&python_origin);
  });
  m.def("get_autocast", [] { return nb::make_tuple(t_autocast.enabled, nb::borrow(dtype_object(t_autocast.dtype))); });
  m.def("set_autocast", [](bool enabled, nb::handle dtype) {
    DType d = dtype_from(dtype.ptr());
    check_type(is_reduced(d), "autocast: dtype must be bfloat16 or float16, got ", d);
    t_autocast = {enabled, d};
  });
  nb::class_<HookHandle>(m, "HookHandle").def("remove", &HookHandle::remove);
  m.def("register_hook", [](nb::handle t, nb::object f) {
    HookHandle h{make_ref<PythonHook>(std::move(f))};
    add_grad_hook(tensor_argument(t.ptr(), "register_hook"), h.hook);
    return h;
  });
  m.def("register_post_accumulate_grad_hook", [](nb::handle t, nb::object f) {
    HookHandle h{make_ref<PythonHook>(std::move(f))};
    add_post_accumulate_hook(tensor_argument(t.ptr(), "register_post_accumulate_grad_hook"), h.hook);
    return h;
  });
  m.def("attach_function", &attach_function);
  m.def("output_in_backward", &output_in_backward);
  m.def("graph_size", [](nb::handle t) {  // nodes behind a tensor: for tests
    std::vector<GradNode*> stack;
    std::set<GradNode*> seen;
    if (Ref<GradNode> fn = grad_fn(tensor_argument(t.ptr(), "graph_size"))) stack.push_back(fn.get());
    while (!stack.empty()) {
      GradNode* n = stack.back();
      stack.pop_back();
      if (!seen.insert(n).second) continue;
      for (auto& e : n->next)
        if (e.node) stack.push_back(e.node.get());
    }
    return seen.size();
  });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { g_origin.reset(); }));
}

}  // namespace hw::bind
