// What a profiler recorded, for headwater.profiler: lists of tuples, one for each event.
#include "base/trace.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/bind.h"
#include "bind/trace.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

nb::str str(const std::string& s) { return nb::str(s.data(), s.size()); }

constexpr const char* kKinds[] = {"op", "backward", "program", "step", "actor", "range", "memory", "begin", "end"};

nb::tuple event_tuple(const TraceEvent& e) {
  return nb::make_tuple(kKinds[static_cast<size_t>(e.kind)], str(e.name), e.begin, e.end, str(e.detail), str(e.origin),
                        e.id, e.number, e.memory, e.flops, e.from, e.to, e.tag);
}

nb::list stop() {
  std::vector<TraceThread> threads;
  {
    const nb::gil_scoped_release released;
    threads = trace_stop();
  }
  nb::list list;
  for (const TraceThread& t : threads) {
    nb::list events;
    for (const TraceEvent& e : t.events) events.append(event_tuple(e));
    list.append(nb::make_tuple(t.id, str(t.name), t.dropped, events));
  }
  return list;
}

}  // namespace

void bind_trace(nb::module_& m) {
  m.def("trace_start", [](bool shapes, bool origins, bool memory, bool flops, int64_t limit) {
    const uint32_t what = (shapes ? kTraceShapes : 0u) | (origins ? kTraceOrigins : 0u) | (memory ? kTraceMemory : 0u) |
                          (flops ? kTraceFlops : 0u);
    return trace_start(what, limit);
  });
  m.def("trace_stop", &stop);
  m.def("trace_on", [] { return tracing(); });
  m.def("trace_now", &trace_now);
  m.def("trace_range", [](const std::string& name, int64_t begin, const std::string& detail, int64_t memory) {
    if (!tracing()) return;
    TraceEvent e;
    e.begin = begin;
    e.end = trace_now();
    e.name = name;
    e.detail = detail;
    e.memory = trace_thread_memory() - memory;
    trace_add(std::move(e));
  });
  m.def("trace_thread_memory", &trace_thread_memory);
}

}  // namespace hw::bind
