// Plans of actors and their runs for Python. The interpreter's lock is taken to call a function and to let go of a value, nowhere else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "autograd/mode.h"
#include "bind/bind.h"
#include "bind/program.h"
#include "eager/autocast.h"
#include "plan/stream/analysis.h"
#include "runtime/run.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

bool finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

/// A Python object in a copy of a register.
struct Held final : RefCounted {
  explicit Held(PyObject* owned) : object(owned) {}
  ~Held() override {
    if (finalizing()) return;  // too late for anything but the end of the process
    const nb::gil_scoped_acquire lock;
    Py_DECREF(object);
  }
  PyObject* object;
};

nb::object object_of(const Payload& p) { return p ? nb::borrow(static_cast<const Held&>(*p).object) : nb::none(); }

/// The exception that is set, as a fault.
Fault python_fault() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  const Owned t(type), tb(trace);
  Fault f;
  const Owned name(PyObject_GetAttrString(type, "__name__")), words(PyObject_Str(value));
  if (!name || !words) PyErr_Clear();
  const char* said = words ? PyUnicode_AsUTF8(words.get()) : nullptr;
  const char* called = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  f.message = text(called ? called : "an exception", ": ", said ? said : "");
  f.cause = make_ref<Held>(value);
  return f;
}

/// Calls a Python function with what the inputs hold; all outputs get its result. The modes are those in which the run was started.
class PythonCall final : public Behaviour {
 public:
  PythonCall(nb::object function, bool source)
      : function_(make_ref<Held>(function.release().ptr())),
        source_(source),
        grad_(grad_mode()),
        autocast_(t_autocast) {}

  Fired fire(FiringView& firing) override {
    if (finalizing()) return {Fired::How::End};
    const nb::gil_scoped_acquire lock;
    grad_mode() = grad_;
    t_autocast = autocast_;
    t_without_lock = true;
    Owned arguments(PyTuple_New(static_cast<Py_ssize_t>(firing.inputs.size())));
    if (!arguments) return {Fired::How::Failed, python_fault()};
    for (size_t i = 0; i < firing.inputs.size(); ++i)
      PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), object_of(firing.inputs[i]).release().ptr());
    PyObject* result = PyObject_Call(function_->object, arguments.get(), nullptr);
    if (!result) {
      if (source_ && PyErr_ExceptionMatches(PyExc_StopIteration)) {
        PyErr_Clear();
        return {Fired::How::End};
      }
      return {Fired::How::Failed, python_fault()};
    }
    const Ref<Held> value = make_ref<Held>(result);
    for (Payload& out : firing.outputs) out = value;
    return {};
  }

 private:
  Ref<Held> function_;
  bool source_;
  GradMode grad_;
  AutocastState autocast_;
};

const char* state_name(StreamRun::State s) {
  switch (s) {
    case StreamRun::State::Running: return "running";
    case StreamRun::State::Item: return "item";
    case StreamRun::State::Finished: return "finished";
    case StreamRun::State::Stopped: return "stopped";
    case StreamRun::State::Failed: return "failed";
  }
  return "";
}

/// Never waits or joins with the interpreter's lock held: the actors need it.
class PyStreamRun {
 public:
  PyStreamRun(const StreamPlan& plan, nb::handle functions, double timeout, bool record, int32_t caller_stream) {
    std::vector<ActorBinding> bindings(plan.actors.size());
    size_t i = 0;
    for (nb::handle f : nb::borrow<nb::sequence>(functions)) {
      check(i < bindings.size(), "there are more functions than actors");
      if (!f.is_none()) bindings[i].call = make_ref<PythonCall>(nb::borrow(f), plan.actors[i].kind == "source");
      ++i;
    }
    RunOptions options;
    options.timeout = timeout;
    options.record = record;
    options.caller_stream = caller_stream;
    run_ = std::make_unique<StreamRun>(plan, bindings, options);
  }
  ~PyStreamRun() {
    if (finalizing()) run_->abandon();
    const nb::gil_scoped_release released;
    run_.reset();
  }
  PyStreamRun(const PyStreamRun&) = delete;

  nb::object next(double seconds) {
    StreamRun::State state;
    std::vector<Payload> values;
    {
      const nb::gil_scoped_release released;
      state = run_->next(seconds);
      if (state == StreamRun::State::Item) values = run_->take();
    }
    nb::list list;
    for (const Payload& p : values) list.append(object_of(p));
    return nb::make_tuple(state_name(state), list);
  }
  const char* wait(double seconds) {
    const nb::gil_scoped_release released;
    return state_name(run_->wait(seconds));
  }
  bool join(double seconds) {
    const nb::gil_scoped_release released;
    return run_->join(seconds);
  }
  nb::object fault() const {
    const Fault* f = run_->fault();
    if (!f) return nb::none();
    return nb::make_tuple(f->text(), f->actor, f->cause ? object_of(f->cause) : nb::none());
  }
  nb::object stats() const {
    nb::list actors, registers;
    for (const auto& s : run_->actor_stats()) actors.append(nb::make_tuple(s.fired, s.busy_seconds));
    for (const auto& s : run_->register_stats()) registers.append(nb::make_tuple(s.most_held, s.messages));
    return nb::make_tuple(actors, registers, run_->seconds());
  }
  nb::object records() const {
    nb::list list;
    for (const FiringRecord& r : run_->records()) list.append(nb::make_tuple(r.actor, r.number, r.begin, r.end));
    return list;
  }
  StreamRun& run() { return *run_; }

 private:
  std::unique_ptr<StreamRun> run_;
};

/// Names and numbers of the plan, for whoever compares it with what was measured.
nb::dict layout_dict(const StreamPlan& plan) {
  const auto name = [&](int32_t actor) { return nb::str(plan.actors[static_cast<size_t>(actor)].name.c_str()); };
  nb::list actors, registers;
  for (const StreamActor& a : plan.actors)
    actors.append(nb::make_tuple(a.name, plan.streams[static_cast<size_t>(a.stream)].name, a.seconds));
  for (const StreamRegister& r : plan.registers) {
    nb::list consumers;
    for (int32_t c : r.consumers) consumers.append(name(c));
    registers.append(nb::make_tuple(r.name, name(r.producer), consumers, r.bytes, r.count, r.initial));
  }
  nb::dict d;
  d["name"] = plan.name;
  d["actors"] = actors;
  d["registers"] = registers;
  return d;
}

nb::dict analysis_dict(const StreamPlan& plan) {
  const StreamAnalysis a = analyse(plan);
  nb::dict d, use, links;
  nb::list cycle, memory;
  for (const MarkedEdge& e : a.critical.cycle) cycle.append(plan.actors[static_cast<size_t>(e.from)].name);
  for (size_t s = 0; s < plan.streams.size(); ++s) use[plan.streams[s].name.c_str()] = a.utilisation[s];
  for (size_t l = 0; l < plan.links.size(); ++l) links[plan.links[l].name.c_str()] = a.link_bytes[l];
  for (const auto& m : a.memory) memory.append(nb::make_tuple(m.device, m.rank, m.registers, m.arenas));
  d["step_seconds"] = a.step_seconds;
  d["critical_cycle"] = cycle;
  d["busiest_stream"] =
      a.busiest < 0 ? nb::none() : nb::object(nb::cast(plan.streams[static_cast<size_t>(a.busiest)].name));
  d["utilisation"] = use;
  d["link_bytes"] = links;
  d["memory"] = memory;
  return d;
}

}  // namespace

void bind_stream(nb::module_& m) {
  nb::class_<StreamPlan>(m, "StreamPlan")
      .def("__init__", [](StreamPlan* p, const std::string& name) { (new (p) StreamPlan())->name = name; })
      .def_rw("name", &StreamPlan::name)
      .def(
          "add_stream",
          [](StreamPlan& p, const std::string& name, int32_t rank) {
            p.streams.push_back({name, "cpu:0", rank, false});
          },
          nb::arg("name"), nb::arg("rank") = 0)
      .def("add_link",
           [](StreamPlan& p, const std::string& name) {
             p.links.push_back({name, 0});
           })
      .def("set_link",
           [](StreamPlan& p, size_t actor, int32_t link, int64_t bytes) {
             p.actors.at(actor).link = link;
             p.actors.at(actor).link_bytes = bytes;
           })
      .def("add_actor",
           [](StreamPlan& p, const std::string& name, const std::string& kind, int32_t stream, double seconds,
              const std::string& runs, const std::string& origin) {
             p.actors.push_back({name, kind, stream, seconds, runs, origin, 0, -1, 0});
           })
      .def("add_register",
           [](StreamPlan& p, const std::string& name, int32_t producer, const std::vector<int32_t>& consumers,
              int64_t bytes, int32_t count, bool fixed, int32_t initial) {
             p.registers.push_back({name, producer, consumers, bytes, count, fixed, initial});
           })
      .def("set_seconds", [](StreamPlan& p, size_t actor, double seconds) { p.actors.at(actor).seconds = seconds; })
      .def("copies",
           [](const StreamPlan& p) {
             nb::dict d;
             for (const StreamRegister& r : p.registers) d[r.name.c_str()] = r.count;
             return d;
           })
      .def("choose_copies", [](StreamPlan& p, int64_t budget) { choose_register_counts(p, budget); })
      .def("clone", [](const StreamPlan& p) { return p; })
      .def("refusal", [](const StreamPlan& p) { return refusal(p); })
      .def("analysis", &analysis_dict)
      .def("layout", &layout_dict)
      .def("report", [](const StreamPlan& p) { return analysis_text(p, analyse(p)); })
      .def("write", [](const StreamPlan& p) { return write_stream_plan(p); });
  m.def("read_stream_plan", &read_stream_plan);
  nb::class_<PyStreamRun>(m, "StreamRun")
      .def(nb::init<const StreamPlan&, nb::handle, double, bool, int32_t>())
      .def("next", &PyStreamRun::next)
      .def("wait", &PyStreamRun::wait)
      .def("stop", [](PyStreamRun& r) { r.run().stop(); })
      .def("join", &PyStreamRun::join)
      .def("abandon", [](PyStreamRun& r) { r.run().abandon(); })
      .def("at_work", [](PyStreamRun& r) { return r.run().at_work(); })
      .def("fault", &PyStreamRun::fault)
      .def("stats", &PyStreamRun::stats)
      .def("records", &PyStreamRun::records)
      .def_prop_ro("id", [](PyStreamRun& r) { return r.run().id(); });
}

}  // namespace hw::bind
