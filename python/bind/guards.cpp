// Checking the guards of a compiled function: whether the places its Python code read still hold what they held.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/bind.h"
#include "bind/guards.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

/// CPython before 3.12 counts the changes of each dict; where it does not, every entry is looked at.
uint64_t version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

}  // namespace

bool Guards::same(PyObject* now, PyObject* before) const {
  if (now == before) return true;
  if (!now || !before || Py_TYPE(now) != Py_TYPE(before)) return false;
  Owned result(own(PyObject_CallFunctionObjArgs(same_, now, before, nullptr)));
  return result.get() == Py_True;
}

bool Guards::hold(Watched& d) {
  const uint64_t version = version_of(d.dict);
  if (version && version == d.version) return true;
  if (d.size >= 0 && PyDict_GET_SIZE(d.dict) != d.size) return false;
  for (const auto& [key, value] : d.entries)
    if (!same(PyDict_GetItemWithError(d.dict, key), value)) return false;
  d.version = version;
  return true;
}

bool Guards::hold() {
  for (Watched& d : dicts_)
    if (!hold(d)) return false;
  for (const auto& [cell, value] : cells_)
    if (!same(PyCell_GET(cell), value)) return false;
  for (const Attribute& a : attributes_) {
    Owned now(PyObject_GetAttr(a.owner, a.name));
    if (!now) PyErr_Clear();
    if (!same(now.get(), a.value)) return false;
  }
  for (const auto& [list, items] : lists_) {
    if (static_cast<size_t>(PyList_GET_SIZE(list)) != items.size()) return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (!same(PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i)), items[i])) return false;
  }
  for (const auto& [set, items] : sets_) {
    if (static_cast<size_t>(PySet_GET_SIZE(set)) != items.size()) return false;
    for (PyObject* item : items)
      if (PySet_Contains(set, item) != 1) return PyErr_Clear(), false;
  }
  return true;
}

Guards::Watched& Guards::watched(PyObject* dict) {
  auto [at, fresh] = dict_index_.try_emplace(dict, dicts_.size());
  if (fresh) {
    keep(dict);
    dicts_.push_back({dict, 0, -1, {}});
  }
  return dicts_[at->second];
}

void Guards::watch(PyObject* dict, PyObject* key, PyObject* value) {
  keep(key), keep(value);
  watched(dict).entries.emplace_back(key, value);
}

void Guards::watch_size(PyObject* dict) { watched(dict).size = PyDict_GET_SIZE(dict); }

void Guards::watch_dict(PyObject* dict) {
  watch_size(dict);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) watch(dict, key, value);
}

void Guards::watch_set(PyObject* set) {
  keep(set);
  Owned copy(own(PySequence_List(set)));
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(copy.get()); ++i) {
    keep(PyList_GET_ITEM(copy.get(), i));
    items.push_back(PyList_GET_ITEM(copy.get(), i));
  }
  sets_.emplace_back(set, std::move(items));
}

void Guards::watch_list(PyObject* list) {
  keep(list);
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    keep(PyList_GET_ITEM(list, i));
    items.push_back(PyList_GET_ITEM(list, i));
  }
  lists_.emplace_back(list, std::move(items));
}

Guards::~Guards() {
  nb::gil_scoped_acquire gil;
  for (PyObject* o : kept_) Py_XDECREF(o);
  Py_XDECREF(same_);
}

/// The dict of a class, behind its read-only view.
static PyObject* class_dict(PyObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  return Py_NewRef(reinterpret_cast<PyTypeObject*>(type)->tp_dict);
#else
  return own(PyType_GetDict(reinterpret_cast<PyTypeObject*>(type)));
#endif
}

void bind_guards(nb::module_& m) {
  nb::class_<PyGuards>(m, "Guards")
      .def("__init__",
           [](PyGuards* g, nb::handle same) { new (g) PyGuards{std::make_shared<Guards>(Py_NewRef(same.ptr()))}; })
      .def(
          "watch",
          [](PyGuards& g, nb::handle place, nb::handle key, nb::handle value) {
            Owned dict(PyType_Check(place.ptr()) ? class_dict(place.ptr()) : Py_NewRef(place.ptr()));
            check_type(PyDict_Check(dict.get()), "expected a dict or a class");
            g.guards->watch(dict.get(), key.ptr(), value.ptr());
          },
          nb::arg("place"), nb::arg("key").none(), nb::arg("value").none())
      .def("watch_absent",
           [](PyGuards& g, nb::dict place, nb::handle key) { g.guards->watch(place.ptr(), key.ptr(), nullptr); })
      .def("watch_size", [](PyGuards& g, nb::dict dict) { g.guards->watch_size(dict.ptr()); })
      .def(
          "watch_attribute",
          [](PyGuards& g, nb::handle owner, nb::handle name, nb::handle value) {
            g.guards->watch_attribute(owner.ptr(), name.ptr(), value.ptr());
          },
          nb::arg("owner"), nb::arg("name"), nb::arg("value").none())
      .def("watch_dict", [](PyGuards& g, nb::dict dict) { g.guards->watch_dict(dict.ptr()); })
      .def("watch_set",
           [](PyGuards& g, nb::handle set) {
             check_type(PyAnySet_Check(set.ptr()), "expected a set");
             g.guards->watch_set(set.ptr());
           })
      .def(
          "watch_cell",
          [](PyGuards& g, nb::handle cell, nb::handle value) { g.guards->watch_cell(cell.ptr(), value.ptr()); },
          nb::arg("cell"), nb::arg("value").none())
      .def("watch_list", [](PyGuards& g, nb::list list) { g.guards->watch_list(list.ptr()); })
      .def("hold", [](PyGuards& g) { return g.guards->hold(); });
}

}  // namespace hw::bind
