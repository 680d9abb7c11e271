// The extension module headwater._C, topic by topic.
#include <nanobind/nanobind.h>

#include "bind/bind.h"
#include "bind/trace.h"

namespace nb = nanobind;

static void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const hw::Error&) {
    hw::bind::set_python_error();
  } catch (const hw::bind::PythonError&) {
    hw::bind::set_python_error();
  } catch (const std::bad_cast&) {
    hw::bind::set_python_error();
  }
}

NB_MODULE(_C, m) {
  nb::set_leak_warnings(false);  // tensors may be held by other modules at exit
  nb::register_exception_translator(translate);
  hw::bind::bind_types(m);
  hw::bind::bind_ops(m);
  hw::bind::bind_exchange(m);
  hw::bind::bind_autograd(m);
  hw::bind::bind_registry(m);
  hw::bind::bind_system(m);
  hw::bind::bind_optim(m);
  hw::bind::bind_graph(m);
  hw::bind::bind_global(m);
  hw::bind::bind_rehearsal(m);
  hw::bind::bind_call_recorder(m);
  hw::bind::bind_compile(m);
  hw::bind::bind_tuning(m);
  hw::bind::bind_distributed(m);
  hw::bind::bind_stream(m);
  hw::bind::bind_trace(m);
}
