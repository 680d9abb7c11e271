// Graphs for Python: text, looking, surgery, passes.
#include "bind/graph.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/attrs.h"
#include "bind/bind.h"
#include "compiler/check_graph.h"
#include "compiler/evaluate.h"
#include "compiler/pipeline.h"
#include "compiler/set_batch.h"
#include "ir/pattern.h"
#include "ir/rewrite.h"
#include "ir/same_graph.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "op/vocabulary.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

// ---------------------------------------------------------------- looking
nb::object value_object(ValueId v) { return v == kNone ? nb::object(nb::none()) : nb::object(nb::int_(v)); }

nb::list value_list(const std::vector<ValueId>& values) {
  nb::list list;
  for (ValueId v : values) list.append(value_object(v));
  return list;
}

void check_value(const Graph& g, ValueId v) {
  check_index(v >= 0 && static_cast<size_t>(v) < g.values.size(), "there is no value %", v, "; the graph has ",
              g.values.size());
}

void check_node(const Graph& g, NodeId n) {
  for (NodeId there : g.order)
    if (there == n) return;
  fail(ErrorKind::Index, "node ", n, " is not in the graph");
}

nb::dict spec_dict(const TensorSpec& s) {
  nb::dict d;
  d["dtype"] = nb::borrow(dtype_object(s.dtype));
  d["shape"] = nb::steal(ints_tuple(s.shape));
  d["strides"] = nb::steal(ints_tuple(s.strides));
  d["number"] = s.wrapped;
  return d;
}

nb::dict attrs_dict(const Node& node) {
  nb::dict d;
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    OpVocabulary::AttrWord word;
    const bool named = op_vocabulary().attr(node.op, i, word);
    d[nb::str(named ? std::string(word.name).c_str() : text("#", i).c_str())] = attr_object(node.attrs[i]);
  }
  return d;
}

nb::dict node_dict(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  nb::dict d;
  nb::list bodies;
  for (const auto& body : node.bodies) bodies.append(nb::cast(PyGraph{*body}));
  d["node"] = n;
  d["op"] = node.op;
  d["inputs"] = value_list(node.inputs);
  d["outputs"] = value_list(node.outputs);
  d["attrs"] = attrs_dict(node);
  d["origin"] = g.origins[static_cast<size_t>(node.origin)];
  d["bodies"] = bodies;
  d["text"] = node_text(g, n, op_vocabulary());
  return d;
}

nb::list nodes(const PyGraph& p) {
  nb::list list;
  for (NodeId n : p.graph.order) list.append(node_dict(p.graph, n));
  return list;
}

nb::list sources(const PyGraph& p) {
  static const char* kinds[] = {"input", "state", "const"};
  nb::list list;
  for (const GraphSource& s : p.graph.sources) {
    nb::dict d = spec_dict(p.graph.spec(s.value));
    d["kind"] = kinds[static_cast<size_t>(s.kind)];
    d["value"] = s.value;
    d["name"] = s.name;
    d["tensor"] = nb::steal(wrap(s.tensor));
    list.append(d);
  }
  return list;
}

nb::list results(const PyGraph& p) {
  static const char* kinds[] = {"output", "update", "gradient"};
  nb::list list;
  for (const GraphResult& r : p.graph.results) {
    nb::dict d;
    d["kind"] = kinds[static_cast<size_t>(r.kind)];
    d["value"] = r.value;
    d[r.kind == GraphResult::Kind::Output ? "memory" : "source"] = value_object(r.source);
    list.append(d);
  }
  return list;
}

/// The nodes of an op, or the matches of a pattern with parentheses: {"nodes": [...], name: value, ...}.
nb::list find(const PyGraph& p, const std::string& what) {
  nb::list list;
  if (what.find('(') == std::string::npos) {
    for (NodeId n : find_nodes(p.graph, what)) list.append(n);
    return list;
  }
  for (const Pattern::Match& m : Pattern(what).find(p.graph)) {
    nb::dict d;
    d["nodes"] = m.nodes;
    for (const auto& [name, value] : m.values) d[name.c_str()] = value;
    list.append(d);
  }
  return list;
}

// ---------------------------------------------------------------- surgery
/// Changes a copy, which takes the place of the graph if it is sound.
template <class F>
auto edited(PyGraph& p, F&& f) {
  Graph g = p.graph;
  auto result = f(g);
  check_graph(g);
  p.graph = std::move(g);
  return result;
}

int replace(PyGraph& p, ValueId from, ValueId to) {
  check_value(p.graph, from);
  check_value(p.graph, to);
  return edited(p, [&](Graph& g) {
    Rewriter r(g);
    const int uses = static_cast<int>(r.uses(from).size());
    r.replace(from, to);
    return uses;
  });
}

std::vector<ValueId> insert(PyGraph& p, const std::string& op, nb::sequence inputs, nb::dict attrs, nb::object before,
                            nb::object after) {
  check(before.is_none() || after.is_none(), "insert: give `before` or `after`, not both");
  std::vector<ValueId> read;
  for (nb::handle h : inputs) {
    read.push_back(h.is_none() ? kNone : static_cast<ValueId>(int_from(h.ptr(), "inputs")));
    if (read.back() != kNone) check_value(p.graph, read.back());
  }
  const OpDef& def = get_op(op);
  Node trial{op, read, {}, def.default_attrs(), {}, 0, {}};
  for (auto [key, value] : attrs) {
    const int i = def.attr_index(nb::cast<std::string>(key));
    check(i >= 0, op, " has no attribute '", nb::cast<std::string>(key), "'");
    trial.attrs[static_cast<size_t>(i)] = attr_from(def.attrs()[static_cast<size_t>(i)], value);
  }
  check(def.kind() != OpKind::Composite, op, " is written with other ops; insert those");
  const std::vector<TensorSpec> outputs = inferred_outputs(p.graph, trial);
  nb::object at = before.is_none() ? after : before;
  const NodeId place = at.is_none() ? kNone : static_cast<NodeId>(int_from(at.ptr(), "node"));
  if (place != kNone) check_node(p.graph, place);
  return edited(p, [&](Graph& g) {
    Rewriter r(g);
    const NodeId n = !before.is_none()
                         ? r.insert_before(place, op, read, trial.attrs, outputs)
                         : r.insert_after(place == kNone ? r.last() : place, op, read, trial.attrs, outputs);
    return r.node(n).outputs;
  });
}

void erase(PyGraph& p, NodeId n) {
  check_node(p.graph, n);
  for (NodeId other : p.graph.order)
    for (ValueId v : p.graph.node(other).inputs)
      for (ValueId made : p.graph.node(n).outputs)
        check(v != made, "node ", n, " cannot be erased: node ", other, " reads %", v);
  for (const GraphResult& r : p.graph.results)
    for (ValueId made : p.graph.node(n).outputs)
      check(r.value != made, "node ", n, " cannot be erased: %", made, " is a result");
  std::erase(p.graph.order, n);
}

// ---------------------------------------------------------------- passes
nb::list records(const PipelineResult& result) {
  nb::list list;
  for (const PassRecord& r : result.records) {
    nb::dict d;
    d["name"] = std::string(r.name);
    d["stage"] = std::string(stage_name(r.stage));
    d["off"] = r.off;
    d["changed"] = r.changed;
    d["nodes_before"] = r.nodes_before;
    d["nodes_after"] = r.nodes_after;
    d["seconds"] = static_cast<double>(r.nanoseconds) * 1e-9;
    d["before"] = r.before;
    d["after"] = r.after;
    list.append(d);
  }
  return list;
}

nb::list run(PyGraph& p, nb::object names, bool frozen, const std::string& off, const std::string& dump, bool verify) {
  PipelineOptions options;
  options.pass.frozen = frozen;
  options.off = off;
  options.dump = dump;
  options.verify = verify;
  Graph g = p.graph;  // kept if a pass fails
  PipelineResult result =
      names.is_none() ? run_pipeline(g, options) : run_passes(g, nb::cast<std::vector<std::string>>(names), options);
  p.graph = std::move(g);
  return records(result);
}

PyGraph parse(const std::string& graph_text, nb::sequence constants, bool zeros) {
  Tensors tensors;
  for (nb::handle h : constants) tensors.push_back(tensor_from(h.ptr(), "constants"));
  Graph g = parse_graph(graph_text, op_vocabulary(), {tensors, zeros});
  check_graph(g);
  return {std::move(g)};
}

/// The results, node by node, without any plan: what every other way to run the graph is measured against.
nb::list evaluate(const PyGraph& p, nb::sequence tensors) {
  Tensors in;
  for (nb::handle h : tensors) in.push_back(tensor_from(h.ptr(), "tensors"));
  nb::list list;
  for (const Tensor& t : evaluate_graph(p.graph, in)) list.append(nb::steal(wrap(t.alias())));
  return list;
}

std::string text_of(const PyGraph& p, nb::object most_elements, bool origins) {
  const int64_t most = most_elements.is_none() ? -1 : int_from(most_elements.ptr(), "most_elements");
  return print_graph(p.graph, op_vocabulary(), {most, origins});
}

std::string difference(const PyGraph& a, const PyGraph& b) {
  std::string why;
  same_graph(a.graph, b.graph, &why);
  return why;
}

void bind_surgery(nb::class_<PyGraph>& c) {
  c.def("replace", &replace, nb::arg("value"), nb::arg("by"), "All uses of a value read another; the number of uses.");
  c.def("insert", &insert, nb::arg("op"), nb::arg("inputs"), nb::arg("attrs") = nb::dict(), nb::kw_only(),
        nb::arg("before").none() = nb::none(), nb::arg("after").none() = nb::none(),
        "A new node, at the end unless told otherwise; the numbers of its outputs.");
  c.def("erase", &erase, nb::arg("node"), "Takes out a node that nobody reads.");
  c.def(
      "set_result",
      [](PyGraph& p, size_t result, ValueId value) {
        check_index(result < p.graph.results.size(), "there is no result ", result);
        check_value(p.graph, value);
        edited(p, [&](Graph& g) { return g.results[result].value = value; });
      },
      nb::arg("result"), nb::arg("value"));
  c.def(
      "set_batch", [](PyGraph& p, int64_t batch, bool numbers_too) { set_batch(p.graph, batch, numbers_too); },
      nb::arg("batch"), nb::arg("numbers_too") = false, "Gives axis 0 of all inputs another size.");
  c.def("run_passes", &run, nb::arg("names").none() = nb::none(), nb::kw_only(), nb::arg("frozen") = false,
        nb::arg("off") = "", nb::arg("dump") = "", nb::arg("verify") = true,
        "Runs these passes, or the whole pipeline; what became of each.");
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<PyGraph> c(m, "Graph");
  c.def_static("parse", &parse, nb::arg("text"), nb::arg("constants") = nb::list(), nb::arg("zeros") = false);
  c.def("text", &text_of, nb::arg("most_elements").none() = nb::int_(16), nb::arg("origins") = true,
        "The graph's text; most_elements=None prints all constants in full.");
  c.def("__str__", [](const PyGraph& p) { return print_graph(p.graph, op_vocabulary()); });
  c.def("__eq__", [](const PyGraph& a, nb::handle b) {
    return nb::isinstance<PyGraph>(b) && same_graph(a.graph, nb::cast<const PyGraph&>(b).graph);
  });
  c.def("__hash__",
        [](const PyGraph&) -> int64_t { fail(ErrorKind::Type, "graphs can change, so they have no hash"); });
  c.def("__len__", [](const PyGraph& p) { return p.graph.order.size(); });
  c.def("__copy__", [](const PyGraph& p) { return p; });
  c.def("copy", [](const PyGraph& p) { return p; });
  c.def("difference", &difference, "The first difference to another graph, or an empty text.");
  c.def_prop_rw(
      "name", [](const PyGraph& p) { return p.graph.name; },
      [](PyGraph& p, const std::string& name) { p.graph.name = name; });
  c.def_prop_ro("num_draws", [](const PyGraph& p) { return p.graph.num_draws; });
  c.def_prop_ro("num_host", [](const PyGraph& p) { return p.graph.num_host; });
  c.def_prop_ro("sources", &sources);
  c.def_prop_ro("results", &results);
  c.def("nodes", &nodes);
  c.def("spec", [](const PyGraph& p, ValueId v) {
    check_value(p.graph, v);
    return spec_dict(p.graph.spec(v));
  });
  c.def("find", &find, nb::arg("what"));
  c.def("evaluate", &evaluate, nb::arg("tensors"), "The results for these inputs and states, node by node.");
  c.def("check", [](const PyGraph& p) { check_graph(p.graph); });
  bind_surgery(c);
  m.def("pipeline_text", &pipeline_text);
  m.def("pipeline_names", [] {
    std::vector<std::string> names;
    for (const Pass& p : pipeline()) names.emplace_back(p.name);
    return names;
  });
}

}  // namespace hw::bind
