// The guards of a compiled function, checked without running Python code.
#pragma once

#include <Python.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hw::bind {

class Guards {
 public:
  /// `same`: a callable that compares two different objects of one type.
  explicit Guards(PyObject* same) : same_(same) {}
  ~Guards();
  Guards(const Guards&) = delete;

  void watch(PyObject* dict, PyObject* key, PyObject* value);  // one entry; null: there is none
  void watch_dict(PyObject* dict);                             // all entries, and no others
  void watch_size(PyObject* dict);                             // how many entries
  void watch_attribute(PyObject* owner, PyObject* name, PyObject* value) {
    keep(owner), keep(name), keep(value);
    attributes_.push_back({owner, name, value});
  }
  void watch_set(PyObject* set);
  void watch_cell(PyObject* cell, PyObject* value) {
    keep(cell), keep(value);
    cells_.emplace_back(cell, value);
  }
  void watch_list(PyObject* list);
  bool hold();

 private:
  struct Watched {
    PyObject* dict;
    uint64_t version;
    Py_ssize_t size;  // of the dict, or -1 where it does not matter
    std::vector<std::pair<PyObject*, PyObject*>> entries;
  };
  bool hold(Watched& d);
  bool same(PyObject* now, PyObject* before) const;
  Watched& watched(PyObject* dict);
  void keep(PyObject* o) {
    Py_XINCREF(o);
    kept_.push_back(o);
  }

  PyObject* same_;
  struct Attribute {
    PyObject *owner, *name, *value;
  };
  std::vector<Watched> dicts_;
  std::unordered_map<PyObject*, size_t> dict_index_;
  std::vector<Attribute> attributes_;
  std::vector<std::pair<PyObject*, PyObject*>> cells_;
  std::vector<std::pair<PyObject*, std::vector<PyObject*>>> lists_, sets_;
  std::vector<PyObject*> kept_;
};

struct PyGuards {
  std::shared_ptr<Guards> guards;
};

}  // namespace hw::bind
