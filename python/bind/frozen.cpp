// Freezing captures into a file, and running frozen models, for headwater.infer.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "bind/bind.h"
#include "bind/program.h"
#include "compiler/freeze/freezer.h"
#include "compiler/freeze/used_kernels.h"
#include "core/read_guard.h"
#include "infer/encrypted.h"
#include "infer/machine.h"
#include "infer/session.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

struct PyModel {
  Ref<infer::LoadedModel> model;
};

struct PyMemory {
  Ref<infer::Memory> memory = make_ref<infer::Memory>();
};

/// A session with a lock: runs leave Python's, so that threads may meet here.
struct PySession {
  std::unique_ptr<infer::Session> session;
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
};

std::vector<TensorSpec> specs_of(const Tensors& tensors) {
  std::vector<TensorSpec> out;
  for (const Tensor& t : tensors) out.push_back(t.spec());
  return out;
}

void set_inputs(infer::Session& s, const Tensors& inputs) {
  const size_t wanted = s.model().frozen().inputs.size();
  check_type(inputs.size() == wanted, "the model ", s.model().frozen().name, " takes ", wanted, " inputs, got ",
             inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(inputs[i].contiguous(), "input ", s.model().frozen().inputs[i], " is not contiguous");
    s.set_input(static_cast<int32_t>(i), address_for(inputs[i], "an input of the model"), inputs[i].dtype(),
                inputs[i].shape());
  }
}

Tensors run(PySession& p, const Tensors& inputs) {
  const std::lock_guard lock(*p.mutex);
  infer::Session& s = *p.session;
  set_inputs(s, inputs);
  const FrozenForm& form = s.model().form(s.model().form_for(specs_of(inputs)));
  Tensors outputs;
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    outputs.push_back(Tensor::empty(form.outputs[i].shape, form.outputs[i].dtype));
    s.set_output(static_cast<int32_t>(i), outputs[i].data(), outputs[i].nbytes());
  }
  s.run();
  return outputs;
}

nb::list spec_list(const std::vector<TensorSpec>& specs) {
  nb::list list;
  for (const TensorSpec& s : specs)
    list.append(nb::make_tuple(nb::borrow(dtype_object(s.dtype)), nb::steal(ints_tuple(s.shape))));
  return list;
}

nb::list forms(const FrozenModel& m) {
  nb::list list;
  for (const FrozenForm& f : m.forms) {
    nb::dict d;
    d["inputs"] = spec_list(f.inputs);
    d["outputs"] = spec_list(f.outputs);
    d["steps"] = f.plan.steps.size();
    d["arena_bytes"] = f.plan.arena_bytes;
    d["tests"] = !f.test_outputs.empty();
    list.append(d);
  }
  return list;
}

int64_t weight_bytes(const FrozenModel& m) {
  int64_t bytes = 0;
  for (const Tensor& t : m.weights) bytes += static_cast<int64_t>(t.nbytes());
  return bytes;
}

void bind_freezer(nb::module_& m) {
  m.def("machine_name", &infer::machine_name);
  m.def("encrypt_frozen", [](const nb::bytes& file, const nb::bytes& key) {
    const std::string out = infer::encrypt({file.c_str(), file.size()}, {key.c_str(), key.size()});
    return nb::bytes(out.data(), out.size());
  });
  nb::class_<Freezer>(m, "Freezer")
      .def("__init__",
           [](Freezer* f, std::string name, std::vector<std::string> inputs, std::vector<std::string> outputs,
              bool packed) {
             new (f) Freezer(std::move(name), "headwater " HEADWATER_VERSION, std::move(inputs), std::move(outputs),
                             packed);
           })
      .def("add", [](Freezer& f, const PyParts& parts) { f.add(parts.parts); })
      .def("add_test", [](Freezer& f, nb::handle inputs,
                          nb::handle outputs) { f.add_test(tensor_list(inputs), tensor_list(outputs)); })
      .def("run_last",
           [](Freezer& f, nb::handle inputs) {
             FrozenModel last = f.model();
             if (last.forms.size() > 1) last.forms.erase(last.forms.begin(), last.forms.end() - 1);
             PySession session{std::make_unique<infer::Session>(make_ref<infer::LoadedModel>(std::move(last)))};
             return list_of(run(session, tensor_list(inputs)));
           })
      .def("in_integers",
           [](Freezer& f) {
             const FrozenModel& m = f.model();
             return std::any_of(
                 m.forms.back().plan.steps.begin(), m.forms.back().plan.steps.end(),
                 [](const PlanStep& s) { return s.op == "_linear_int8" || s.op.starts_with("_conv2d_int8"); });
           })
      .def("note", [](Freezer& f, std::string key, std::string value) { f.note(std::move(key), std::move(value)); })
      .def("save", [](Freezer& f, const std::string& path) { save_frozen(f.model(), path); })
      .def("data", [](Freezer& f) {
        const std::string file = write_frozen(f.model());
        return nb::bytes(file.data(), file.size());
      });
}

nb::list used_kernels(const FrozenModel& model, const std::string& isa) {
  Isa wanted = Isa::Scalar;
  for (Isa i : {Isa::AVX2, Isa::AVX512, Isa::Neon})
    if (isa_name(i) == isa) wanted = i;
  nb::list list;
  for (const UsedCall& c : used_calls(model, wanted)) {
    nb::dict d;
    d["digest"] = hex(c.digest);
    d["op"] = c.op;
    d["kernels"] = c.kernels;
    d["functor"] = c.functor;
    d["compute"] = static_cast<int>(c.compute);
    d["reduction"] = c.reduction;
    std::vector<int> dtypes;
    for (DType t : c.dtypes) dtypes.push_back(static_cast<int>(t));
    d["dtypes"] = dtypes;
    list.append(d);
  }
  return list;
}

void bind_models(nb::module_& m) {
  nb::class_<PyModel>(m, "FrozenModel")
      .def_static("load", [](const std::string& path) { return PyModel{infer::LoadedModel::load(path)}; })
      .def_static("from_bytes",
                  [](const nb::bytes& data) {
                    auto copy = make_ref<Storage>(data.size());  // the bytes object may go before the model
                    if (data.size()) std::memcpy(copy->data(), data.c_str(), data.size());
                    return PyModel{make_ref<infer::LoadedModel>(std::move(copy))};
                  })
      .def_static("load_encrypted",
                  [](const std::string& path, const nb::bytes& key) {
                    return PyModel{infer::LoadedModel::load(path, {key.c_str(), key.size()})};
                  })
      .def_static(
          "from_encrypted",
          [](const nb::bytes& data, const nb::bytes& key) {
            return PyModel{infer::LoadedModel::from_memory(data.c_str(), data.size(), {key.c_str(), key.size()})};
          })
      .def_prop_ro("name", [](PyModel& p) { return p.model->frozen().name; })
      .def_prop_ro("producer", [](PyModel& p) { return p.model->frozen().producer; })
      .def_prop_ro("inputs", [](PyModel& p) { return p.model->frozen().inputs; })
      .def_prop_ro("outputs", [](PyModel& p) { return p.model->frozen().outputs; })
      .def_prop_ro("notes", [](PyModel& p) { return p.model->frozen().notes; })
      .def("with_notes",  // the file anew, with these in place of those it has
           [](PyModel& p, std::vector<std::pair<std::string, std::string>> notes) {
             FrozenModel model = p.model->frozen();
             model.notes = std::move(notes);
             const std::string file = write_frozen(model);
             return nb::bytes(file.data(), file.size());
           })
      .def_prop_ro("forms", [](PyModel& p) { return forms(p.model->frozen()); })
      .def_prop_ro("file_bytes", [](PyModel& p) { return p.model->file_bytes(); })
      .def_prop_ro("weight_bytes", [](PyModel& p) { return weight_bytes(p.model->frozen()); })
      .def("test_inputs",
           [](PyModel& p, size_t form) {
             check_index(form < p.model->frozen().forms.size(), "there is no form ", form);
             return list_of(p.model->form(form).test_inputs);
           })
      .def("used_kernels", [](PyModel& p, const std::string& isa) { return used_kernels(p.model->frozen(), isa); })
      .def("check_data", [](PyModel& p) { p.model->check_data(); })
      .def("test_difference", [](PyModel& p) { return infer::test_difference(p.model); });
}

void bind_sessions(nb::module_& m) {
  nb::class_<PyMemory>(m, "FrozenMemory").def(nb::init<>()).def_prop_ro("bytes", [](PyMemory& p) {
    return p.memory->bytes();
  });
  nb::class_<PySession>(m, "FrozenSession")
      .def(
          "__init__",
          [](PySession* p, PyModel& model, PyMemory* memory) {
            new (p) PySession{
                std::make_unique<infer::Session>(model.model, memory ? memory->memory : Ref<infer::Memory>())};
          },
          nb::arg("model"), nb::arg("memory").none() = nullptr)
      .def("run",
           [](PySession& p, nb::handle inputs) {
             const Tensors given = tensor_list(inputs);
             Tensors outputs;
             {
               const nb::gil_scoped_release free;
               outputs = run(p, given);
             }
             return list_of(outputs);
           })
      .def("run_timed",
           [](PySession& p, nb::handle inputs) {
             const Tensors given = tensor_list(inputs);
             const std::lock_guard lock(*p.mutex);
             set_inputs(*p.session, given);
             for (size_t i = 0; i < p.session->model().frozen().outputs.size(); ++i)
               p.session->set_output(static_cast<int32_t>(i), nullptr, 0);
             nb::list list;
             for (const infer::StepTime& s : p.session->run_timed())
               list.append(nb::make_tuple(s.op, s.kernel, s.origin, s.nanoseconds));
             return list;
           })
      .def("set_team",
           [](PySession& p, int threads, const std::vector<int32_t>& cores) {
             const std::lock_guard lock(*p.mutex);
             p.session->set_team(threads, cores);
           })
      .def_prop_ro("bytes", [](PySession& p) { return p.session->bytes(); });
}

}  // namespace

void bind_frozen(nb::module_& m) {
  bind_freezer(m);
  bind_models(m);
  bind_sessions(m);
}

}  // namespace hw::bind
