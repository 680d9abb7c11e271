// C++ exceptions as Python exceptions.
#include <nanobind/nanobind.h>

#include <new>
#include <typeinfo>

#include "bind/bind.h"

namespace hw::bind {

static PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::Runtime: return PyExc_RuntimeError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Memory: return PyExc_MemoryError;
    case ErrorKind::Key: return PyExc_KeyError;
    case ErrorKind::Overflow: return PyExc_OverflowError;
  }
  return PyExc_RuntimeError;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "an error without a message");
  } catch (nanobind::python_error& e) {
    e.restore();
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "a Python object is not of the type that is needed");
  } catch (const Error& e) {
    PyErr_SetString(exception_class(e.kind()), e.message().c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

}  // namespace hw::bind
