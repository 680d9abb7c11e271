// What a computation on "meta" meshes would cost, for Python.
#include "eager/global/rehearsal.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/bind.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

/// A context: what happens within it on this thread is counted.
struct Scope {
  Ref<Rehearsal> rehearsal;
  Rehearsal* before = nullptr;
};

nb::dict cost_object(const MeshCost& c) {
  nb::dict out, traffic;
  for (const auto& [name, sum] : c.traffic) traffic[name.c_str()] = nb::make_tuple(sum.first, sum.second);
  out["compute"] = c.compute;
  out["communication"] = c.communication;
  out["flops"] = c.flops;
  out["bytes"] = c.bytes;
  out["ops"] = c.ops;
  out["traffic"] = traffic;
  out["memory"] = c.memory;
  out["peak"] = c.peak;
  return out;
}

}  // namespace

void bind_rehearsal(nb::module_& m) {
  nb::class_<Scope>(m, "Rehearsal")
      .def(
          "__init__",
          [](Scope* self, double flops, double memory_rate, double op_time, double link_rate, double link_latency) {
            const DeviceModel device{flops, memory_rate, op_time, link_rate, link_latency};
            new (self) Scope{make_ref<Rehearsal>(device), nullptr};
          },
          nb::arg("flops"), nb::arg("memory_rate"), nb::arg("op_time"), nb::arg("link_rate"), nb::arg("link_latency"))
      .def("__enter__", [](Scope& s) { s.before = std::exchange(t_rehearsal, s.rehearsal.get()); })
      .def("__exit__", [](Scope& s, nb::args) { t_rehearsal = s.before; })
      .def("costs", [](const Scope& s) {
        nb::dict out;
        for (const auto& [mesh, cost] : s.rehearsal->costs()) out[mesh.c_str()] = cost_object(cost);
        return out;
      });
}

}  // namespace hw::bind
