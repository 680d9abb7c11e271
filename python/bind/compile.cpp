// Capturing functions and running what they were compiled to, for headwater.compiler.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "autograd/mode.h"
#include "autograd/node.h"
#include "base/flags.h"
#include "bind/bind.h"
#include "bind/graph.h"
#include "bind/plan_data.h"
#include "bind/program.h"
#include "codegen/compiled.h"
#include "codegen/llvm.h"
#include "compiler/cache/folder.h"
#include "compiler/capture/capture.h"
#include "compiler/program/program.h"
#include "compiler/program/split.h"
#include "compiler/program/symbols.h"
#include "compiler/steady.h"
#include "core/read_guard.h"
#include "eager/autocast.h"
#include "eager/eager.h"
#include "eager/global/global_tensor.h"
#include "ir/text.h"
#include "op/vocabulary.h"

namespace nb = nanobind;

namespace hw::bind {

Tensors tensor_list(nb::handle list) {
  Owned seq(own(PySequence_Fast(list.ptr(), "expected a list of tensors")));
  Tensors out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(seq.get(), i);
    check_type(is_tensor(item) || item == Py_None, "expected tensors, got ", Py_TYPE(item)->tp_name);
    out.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return out;
}

nb::object list_of(const Tensors& tensors) {
  Owned list(own(PyList_New(static_cast<Py_ssize_t>(tensors.size()))));
  for (size_t i = 0; i < tensors.size(); ++i) PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]));
  return nb::steal(list.take());
}

namespace {

std::vector<double> numbers(nb::handle list) {
  Owned seq(own(PySequence_Fast(list.ptr(), "expected a list of numbers")));
  std::vector<double> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i)
    out.push_back(scalar_from(PySequence_Fast_GET_ITEM(seq.get(), i)).f64());
  return out;
}

/// A capture and what the function returned.
struct PyCapture {
  explicit PyCapture(const std::string& name, PyCapture* parent) : capture(name, parent ? &parent->capture : nullptr) {}
  Capture capture;
  Capture::Outputs outputs;
};

/// A graph inside a node.
struct PyBody {
  std::shared_ptr<const Graph> graph;
};

struct PyWorkspace {
  Ref<Workspace> workspace = make_ref<Workspace>();
};

/// The modes of the thread that a program depends on, as one number.
int64_t mode_key() {
  const GradMode& g = grad_mode();
  int64_t key = g.enabled | g.inference << 1 | t_autocast.enabled << 2;
  return key | static_cast<int64_t>(t_autocast.dtype) << 8 | static_cast<int64_t>(default_dtype()) << 16;
}

}  // namespace

/// Where a global tensor lies, and the layout of its parts.
static void append_parts(std::vector<int64_t>& key, const Tensor& t) {
  key.push_back(reinterpret_cast<int64_t>(global_of(t)->place));
  for (const Tensor& p : hw::parts_of(t))
    for (int64_t n : p.strides()) key.push_back(n);
}

void append_call_key(std::vector<int64_t>& key, const Tensors& tensors, bool sized) {
  key.push_back(mode_key());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    size_t first = 0;  // the first argument on the same memory
    while (tensors[first]->storage.get() != t->storage.get()) ++first;
    const bool leaf = is_leaf(t);
    const Tensor grad = leaf && requires_grad(t) ? grad_meta(t)->grad : Tensor();
    key.push_back(static_cast<int64_t>(first) << 32 | t.ndim() << 16 | grad.defined() << 12 | t->inference << 11 |
                  static_cast<int64_t>(static_cast<bool>(t->global)) << 13 | leaf << 10 | requires_grad(t) << 9 |
                  t.contiguous() << 8 | static_cast<int64_t>(t.dtype()));
    if (!sized) continue;
    if (grad.defined())
      for (int64_t n : grad.strides()) key.push_back(n);
    for (int64_t n : t.shape()) key.push_back(n);
    if (!t.contiguous())
      for (int64_t n : t.strides()) key.push_back(n);
    if (t->global) append_parts(key, t);
    if (grad.defined() && grad->global) append_parts(key, grad);
  }
}

namespace {

/// The same as bytes; without sizes if not `sized`.
nb::object call_key(nb::handle list, bool sized) {
  std::vector<int64_t> key;
  append_call_key(key, tensor_list(list), sized);
  return nb::bytes(key.data(), key.size() * sizeof(int64_t));
}

PipelineOptions options_for(int64_t memory_budget) {
  PipelineOptions options;
  options.pass.memory_budget = memory_budget;
  options.keep_graph = flag_int("HEADWATER_KEEP_GRAPH", 0) != 0;
  return options;
}

/// For a graph that no gradient is computed of outside. If it changes no state either, it is taken as inference: its state stays
/// as it is from call to call.
PipelineOptions options_for(const Graph& graph, int64_t memory_budget) {
  PipelineOptions options = options_for(memory_budget);
  options.pass.frozen = gives_outputs_only(graph);
  return options;
}

void bind_parts(nb::module_& m) {
  nb::class_<PyParts>(m, "ProgramParts")
      .def("sources",  // by source of the graph: the tensor of state, None for the others
           [](PyParts& p) {
             nb::list list;
             for (const ProgramSource& s : p.parts.sources)
               list.append(s.tensor.defined() ? nb::steal(wrap(s.tensor.alias())) : nb::object(nb::none()));
             return list;
           })
      .def("at_sizes",
           [](PyParts& p, const std::vector<int64_t>& sizes) { return PyParts{instantiate(p.parts, sizes)}; })
      .def("program",
           [](PyParts& p, PyWorkspace& w, int64_t memory_budget) {
             return PyProgram{
                 std::make_shared<Program>(p.parts, w.workspace, options_for(p.parts.graph, memory_budget))};
           })
      .def("split_program",
           [](PyParts& p, PyWorkspace& w, int64_t memory_budget, size_t boundary, size_t outputs, int32_t arguments) {
             SplitParts parts = split_backward(p.parts, boundary, outputs, arguments);
             const PipelineOptions options = options_for(memory_budget);
             return nb::make_tuple(PyProgram{std::make_shared<Program>(parts.forward, w.workspace, options)},
                                   PyProgram{std::make_shared<Program>(parts.backward, w.workspace, options)},
                                   parts.num_saved, parts.arguments);
           });
}

/// A gradient from outside, contiguous however the output lies. That of a global one lies as it does, but never partial.
Tensor seed_for(const Tensor& output) {
  const TensorSpec spec{output.dtype(), false, {}, output.shape(), contiguous_strides(output.shape())};
  if (!output->global) return abstract_tensor(spec);
  const Place* place = place_of(without_partial(global_of(output)->place->value));
  Tensors parts;
  for (int64_t position : place->here) {
    const Dims shape = local_dims(place, spec.shape, position);
    parts.push_back(abstract_tensor({spec.dtype, false, {}, shape, contiguous_strides(shape)}));
  }
  return make_global(spec, place, std::move(parts));
}

void bind_capture(nb::module_& m) {
  const nb::class_<PyBody> opaque(m, "GraphBody");  // Python only hands it back
  nb::class_<PyCapture>(m, "Capture")
      .def(nb::init<const std::string&, PyCapture*>(), nb::arg("name"), nb::arg("parent") = nullptr)
      .def(
          "add_input",
          [](PyCapture& c, nb::handle t, const std::string& name, nb::handle shape) {
            const Tensor& given = tensor_of(t.ptr());
            Dims s = shape.is_none() ? given.shape() : ints_from(shape.ptr(), "shape");
            return nb::steal(wrap(c.capture.add_input(given, name, s)));
          },
          nb::arg("tensor"), nb::arg("name"), nb::arg("shape").none())
      .def("add_seed",  // a gradient from outside, contiguous however the output lies
           [](PyCapture& c, nb::handle output, const std::string& name) {
             const Tensor& t = tensor_of(output.ptr());
             return nb::steal(wrap(c.capture.add_input(seed_for(t), name, t.shape())));
           })
      .def("enter", [](PyCapture& c) { c.capture.enter(); })
      .def("leave", [](PyCapture& c) { c.capture.leave(); })
      .def("pause", [](PyCapture& c) { c.capture.pause(); })
      .def("resume", [](PyCapture& c) { c.capture.resume(); })
      .def("add_host", [](PyCapture& c, int32_t count) { return c.capture.add_host(count); })
      .def("bind_next_to_host", [](PyCapture& c, int32_t first) { c.capture.bind_next_to_host(first); })
      .def("output", [](PyCapture& c, nb::handle t) { c.capture.output(tensor_of(t.ptr()), c.outputs); })
      .def("name_state",
           [](PyCapture& c, nb::handle t, const std::string& name) { c.capture.name_state(tensor_of(t.ptr()), name); })
      .def("differentiable", [](PyCapture& c) { return list_of(c.capture.differentiable_sources()); })
      .def("cut", [](PyCapture& c, size_t nodes) { c.capture.graph().order.resize(nodes); })
      .def("finish", [](PyCapture& c) { c.capture.finish(); })
      .def("leaks", [](PyCapture& c) { return c.capture.leaks(); })
      .def("graph", [](PyCapture& c) { return PyGraph{c.capture.graph()}; })
      .def("num_nodes", [](PyCapture& c) { return c.capture.graph().order.size(); })
      .def("lifted", [](PyCapture& c) { return list_of(c.capture.lifted()); })
      .def("body", [](PyCapture& c, nb::handle inputs,
                      nb::handle outputs) { return PyBody{c.capture.body(tensor_list(inputs), tensor_list(outputs))}; })
      .def("add_control",
           [](PyCapture& c, const std::string& op, nb::handle inputs, const std::vector<PyBody>& bodies) {
             std::vector<std::shared_ptr<const Graph>> graphs;
             for (const PyBody& b : bodies) graphs.push_back(b.graph);
             return list_of(c.capture.add_control(op, tensor_list(inputs), std::move(graphs)));
           })
      .def("set_node_limit", [](PyCapture& c, size_t n) { c.capture.set_node_limit(n); })
      .def("parts", [](PyCapture& c) { return PyParts{parts_of(c.capture, c.outputs)}; });
  m.def("pass_list", &pass_list);
  m.attr("most_symbols") = kMostSymbols;
  m.def("symbol_number", &symbol_number);
  m.def("is_symbolic", [](int64_t n, size_t symbols) { return formula_of(n, symbols).set != 0; });
  m.def("size_at", [](int64_t n, const std::vector<int64_t>& sizes) { return formula_of(n, sizes.size()).at(sizes); });
  m.def(
      "set_size_hook", [](nb::handle hook) { set_size_hook(hook.ptr()); }, nb::arg("hook").none());
  m.def("call_key", &call_key, nb::arg("tensors"), nb::arg("sized") = true);
}

void bind_code(nb::module_& m) {
  m.def("codegen_missing", [] {
    std::string why_not;
    if (code_lanes(why_not)) has_llvm(why_not);
    return why_not;
  });
  m.def("codegen_stats", [] {
    const CodeStats s = code_stats();
    nb::dict d;
    d["compiled"] = s.compiled;
    d["from_disk"] = s.from_disk;
    d["failed"] = s.failed;
    d["seconds"] = s.seconds;
    d["missing"] = s.missing;
    return d;
  });
}

/// A stage as `record` takes it: (name, [(text, origin, values) of each node], results).
void record_stage(nb::handle record, const BisectStage& s) {
  nb::list nodes;
  if (!s.values.empty())
    for (NodeId n : s.graph.order) {
      const Node& node = s.graph.node(n);
      Tensors made;
      for (ValueId v : node.outputs) made.push_back(s.values[static_cast<size_t>(v)]);
      nodes.append(nb::make_tuple(node_text(s.graph, n, op_vocabulary()),
                                  s.graph.origins[static_cast<size_t>(node.origin)], list_of(made)));
    }
  record(s.name, nodes, list_of(s.results));
}

/// {"divergence": None or what, "names": the stages}; each stage is given to `record` if that is not None.
nb::dict bisected(PyProgram& p, nb::handle inputs, nb::handle host, double tolerance, nb::handle record) {
  DivergenceFinder finder(tolerance);
  nb::list names;
  p.program->bisect(tensor_list(inputs), numbers(host), [&](BisectStage&& s) {
    names.append(s.name);
    if (record.is_none())
      finder.look(std::move(s));
    else
      record_stage(record, s);
    return finder.found().pass.empty();
  });
  const Divergence& found = finder.found();
  nb::dict d;
  d["names"] = names;
  d["divergence"] = found.pass.empty()
                        ? nb::object(nb::none())
                        : nb::object(nb::make_tuple(found.pass, found.text, found.origin, found.difference));
  return d;
}

void bind_program(nb::module_& m) {
  nb::class_<PyWorkspace>(m, "Workspace")
      .def(nb::init<>())
      .def("release", [](PyWorkspace& w) { w.workspace->release(); })
      .def_prop_ro("bytes", [](PyWorkspace& w) { return w.workspace->bytes(); });
  nb::class_<PyProgram>(m, "Program")
      .def("run", [](PyProgram& p, nb::handle inputs,
                     nb::handle host) { return list_of(run_program(*p.program, tensor_list(inputs), numbers(host))); })
      .def("run_timed", [](PyProgram& p, nb::handle inputs,
                           nb::handle host) { return p.program->run_timed(tensor_list(inputs), numbers(host)); })
      .def("bisect", &bisected, nb::arg("inputs"), nb::arg("host"), nb::arg("tolerance"), nb::arg("record").none())
      .def_prop_ro("from_cache", [](PyProgram& p) { return p.program->from_cache(); })
      .def_prop_ro("cache_note", [](PyProgram& p) { return p.program->cache_note(); })
      .def("passes_text", [](PyProgram& p) { return records_text(p.program->passes()); })
      .def("plan_text", [](PyProgram& p) { return plan_text(p.program->plan()); })
      .def("state", [](PyProgram& p) { return list_of(p.program->state()); })
      .def("plan_data", [](PyProgram& p) { return plan_data(*p.program); })
      .def("state_problem", [](PyProgram& p) { return p.program->state_problem(); })
      .def_prop_ro("arena_bytes", [](PyProgram& p) { return p.program->plan().arena_bytes; })
      .def_prop_ro("arena_lower_bound", [](PyProgram& p) { return p.program->plan().arena_lower_bound; })
      .def_prop_ro("memory_bytes", [](PyProgram& p) { return p.program->chain().memory_bytes(); })
      .def("steps", [](PyProgram& p) {
        nb::list list;
        const Plan& plan = p.program->plan();
        for (size_t i = 0; i < plan.steps.size(); ++i)
          list.append(nb::make_tuple(plan.steps[i].op, p.program->chain().kernel_name(i),
                                     plan.origins[static_cast<size_t>(plan.steps[i].origin)]));
        return list;
      });
}

}  // namespace

namespace {

void bind_cache(nb::module_& m) {
  m.def("cache_folder", &cache_folder);
  m.def("cache_limit", &cache_limit);
  m.def("cache_clear", &clear_cache);
  m.def("cache_use", [] {
    const KeptUse use = cache_use();
    return nb::make_tuple(use.entries, use.bytes);
  });
  m.def("cache_counters", [] {
    const CacheCounters& c = cache_counters();
    nb::dict d;
    d["hits"] = c.hits.load();
    d["misses"] = c.misses.load();
    d["refused"] = c.refused.load();
    d["written"] = c.written.load();
    return d;
  });
}

}  // namespace

void bind_compile(nb::module_& m) {
  bind_cache(m);
  bind_capture(m);
  bind_parts(m);
  bind_program(m);
  bind_code(m);
  bind_guards(m);
  bind_dispatch(m);
  bind_frozen(m);
}

}  // namespace hw::bind
