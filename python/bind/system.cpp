// Threads, memory, instruction sets, generators, build facts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/thread_team.h"
#include "bind/bind.h"
#include "compiler/capture/capture.h"
#include "core/allocator.h"
#include "core/generator.h"
#include "eager/eager.h"
#include "kernels/isa.h"
#include "op/rules.h"

namespace nb = nanobind;

namespace hw::bind {

struct PyGenerator {
  Ref<Generator> value;
};

Generator* generator_from(PyObject* o) {
  PyGenerator* g = nullptr;
  if (!nb::try_cast(nb::handle(o), g) || !g)
    fail(ErrorKind::Type, "generator must be a headwater.Generator, got ", Py_TYPE(o)->tp_name);
  return g->value.get();
}

/// A program draws where the default generator stands in each run.
static void check_not_capturing_draws(const PyGenerator& g) {
  check_runtime(!current_capture() || g.value.get() != &default_generator(),
                "the random generator is seeded or looked at inside a compiled function, which a program does not do "
                "in each run; ",
                "do it outside");
}

static nb::dict memory_dict() {
  MemoryStats s = memory_stats();
  nb::dict d;
  d["allocated"] = s.allocated;
  d["peak_allocated"] = s.peak_allocated;
  d["reserved"] = s.reserved;
  d["peak_reserved"] = s.peak_reserved;
  d["allocations"] = s.allocations;
  d["cache_hits"] = s.cache_hits;
  return d;
}

static void set_isa_by_name(const std::string& name) {
  for (Isa i : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon})
    if (isa_name(i) == name) {
      set_isa(i);
      invalidate_prepared();
      return;
    }
  fail(ErrorKind::Value, "there is no instruction set '", name, "' here: scalar, avx2, avx512 or neon");
}

static void bind_machine(nb::module_& m) {
  m.def("get_num_threads", &num_threads);
  m.def("set_num_threads", [](int n) {
    check(n > 0 && n <= 1024, "the number of threads must be in [1, 1024], got ", n);
    set_num_threads(n);
    invalidate_prepared();
  });
  m.def("memory_stats", &memory_dict);
  m.def("reset_peak_memory_stats", &reset_peak_memory_stats);
  m.def("empty_cache", &empty_cache);
  m.def("isa", [] { return std::string(isa_name(isa())); });
  m.def("isa_found", [] { return std::string(isa_name(isa_found())); });
  m.def("set_isa", &set_isa_by_name);
  m.def("cpu_features", [] {
    nb::dict d;
    d["avx512_bf16"] = has_avx512_bf16();
    d["avx512_vnni"] = has_avx512_vnni();
    d["amx_bf16"] = has_amx_bf16();
    return d;
  });
}

static void bind_dtype_rules(nb::module_& m) {
  m.def("get_default_dtype", [] { return nb::borrow(dtype_object(default_dtype())); });
  m.def("set_default_dtype", [](nb::handle d) {
    set_default_dtype(dtype_from(d.ptr()));
    invalidate_prepared();
  });
  m.def("promote_types", [](nb::handle a, nb::handle b) {
    return nb::borrow(dtype_object(promote(dtype_from(a.ptr()), dtype_from(b.ptr()))));
  });
  m.def("can_cast", [](nb::handle a, nb::handle b) { return can_cast(dtype_from(a.ptr()), dtype_from(b.ptr())); });
  m.def("result_type", [](nb::args args) {
    std::vector<TensorSpec> specs;
    for (nb::handle a : args) specs.push_back(tensor_from(a.ptr(), "tensors").spec());
    return nb::borrow(dtype_object(result_type(specs)));
  });
}

static void bind_generator(nb::module_& m) {
  nb::class_<PyGenerator>(m, "Generator", "A stream of random numbers: a seed, and how many draws were made.")
      .def(
          "__init__",
          [](PyGenerator* g, nb::handle device) {
            if (!device.is_none()) {
              Owned name(own(PyObject_Str(device.ptr())));
              parse_device(utf8(name.get()));
            }
            new (g) PyGenerator{make_ref<Generator>(uint64_t{67280421310721ull})};
          },
          nb::arg("device").none() = nb::none())
      .def("manual_seed",
           [](nb::handle self, nb::handle seed) {
             uint64_t s = PyLong_AsUnsignedLongLongMask(seed.ptr());
             if (PyErr_Occurred()) throw nb::python_error();
             PyGenerator& g = nb::cast<PyGenerator&>(self);
             check_not_capturing_draws(g);
             g.value->manual_seed(s);
             return nb::borrow(self);
           })
      .def("initial_seed", [](PyGenerator& g) { return g.value->seed(); })
      .def("seed",
           [](PyGenerator& g) {
             check_not_capturing_draws(g);
             g.value->manual_seed(default_generator().seed() * 0x9e3779b97f4a7c15ull + default_generator().next_draw());
             return g.value->seed();
           })
      .def("get_state",
           [](PyGenerator& g) {
             check_not_capturing_draws(g);
             return nb::make_tuple(g.value->seed(), g.value->draws());
           })
      .def("set_state", [](PyGenerator& g, nb::tuple s) {
        check_not_capturing_draws(g);
        check(s.size() == 2, "a generator's state is (seed, draws)");
        g.value->set_state(nb::cast<uint64_t>(s[0]), nb::cast<uint64_t>(s[1]));
      });
  m.def("default_generator", [] { return PyGenerator{Ref<Generator>(&default_generator())}; });
}

void bind_system(nb::module_& m) {
  bind_machine(m);
  bind_dtype_rules(m);
  bind_generator(m);
  nb::dict build;
  build["version"] = HEADWATER_VERSION;
  build["type"] = HEADWATER_BUILD_TYPE;
  build["compiler"] = HEADWATER_COMPILER;
  build["flags"] = HEADWATER_FLAGS;
  build["highway"] = HEADWATER_HIGHWAY;
  build["openmp"] = HEADWATER_OPENMP;
  build["onednn"] = HEADWATER_ONEDNN;  // empty: built without
  m.attr("build") = build;
}

}  // namespace hw::bind
