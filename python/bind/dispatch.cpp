// The call of a compiled function. Calls with tensors only, of a kind seen before, go from here straight to the program.
#include <nanobind/nanobind.h>

#include "bind/bind.h"
#include "bind/guards.h"
#include "bind/program.h"
#include "compiler/capture/capture.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

struct Entry {
  std::vector<int64_t> key;
  std::shared_ptr<Guards> guards;
  std::shared_ptr<Program> program;
  bool single;  // one tensor is returned, else a tuple of them
};

struct Dispatch {
  PyObject_HEAD std::vector<Entry>* entries;
};

Entry* find(std::vector<Entry>& entries, const std::vector<int64_t>& key) {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].key == key) {
      if (i) std::swap(entries[0], entries[i]);
      return &entries[0];
    }
  return nullptr;
}

/// The result, or null without an exception if the call is none for this path.
PyObject* call_known(Dispatch* self, PyObject* args) {
  if (self->entries->empty() || current_capture()) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Tensors tensors;
  tensors.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    if (!is_tensor(o)) return nullptr;
    for (Py_ssize_t j = 0; j < i; ++j)
      if (PyTuple_GET_ITEM(args, j) == o) return nullptr;
    tensors.push_back(tensor_of(o));
  }
  static thread_local std::vector<int64_t> key;
  key.clear();
  append_call_key(key, tensors, true);
  Entry* e = find(*self->entries, key);
  if (!e || !e->guards->hold() || !e->program->state_holds()) return nullptr;
  std::shared_ptr<Program> program = e->program;  // the entry may go while it runs
  const bool single = e->single;
  Tensors out = run_program(*program, tensors, {});
  if (single) return wrap(out[0]);
  Owned tuple(own(PyTuple_New(static_cast<Py_ssize_t>(out.size()))));
  for (size_t i = 0; i < out.size(); ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(out[i]));
  return tuple.take();
}

PyObject* dispatch_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (!kwargs || PyDict_GET_SIZE(kwargs) == 0)
      if (PyObject* result = call_known(reinterpret_cast<Dispatch*>(self), args)) return result;
    static PyObject* name = PyUnicode_InternFromString("_call");
    Owned slow(own(PyObject_GetAttr(self, name)));
    return own(PyObject_Call(slow.get(), args, kwargs));
  });
}

PyObject* dispatch_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<Dispatch*>(o)->entries = new std::vector<Entry>;
  return o;
}

void dispatch_free(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  delete reinterpret_cast<Dispatch*>(o)->entries;
  type->tp_free(o);
  Py_DECREF(type);
}

}  // namespace

void bind_dispatch(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(dispatch_call)},
                                {Py_tp_new, reinterpret_cast<void*>(dispatch_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(dispatch_free)},
                                {0, nullptr}};
  static PyType_Spec spec = {"headwater._C.Dispatch", sizeof(Dispatch), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  PyObject* type = own(PyType_FromSpec(&spec));
  m.attr("Dispatch") = nb::steal(type);
  m.def("dispatch_add", [](nb::handle self, nb::handle tensors, PyGuards& guards, PyProgram& program, bool single) {
    std::vector<int64_t> key;
    append_call_key(key, tensor_list(tensors), true);
    auto& entries = *reinterpret_cast<Dispatch*>(self.ptr())->entries;
    entries.insert(entries.begin(), {std::move(key), guards.guards, program.program, single});
    if (entries.size() > 64) entries.pop_back();
  });
  m.def("dispatch_clear", [](nb::handle self) { reinterpret_cast<Dispatch*>(self.ptr())->entries->clear(); });
}

}  // namespace hw::bind
