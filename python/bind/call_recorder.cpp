// Which kernel ops and views a function runs, with what: the generic tests check each of them by its own declaration.
#include <nanobind/nanobind.h>

#include "autograd/mode.h"
#include "bind/attrs.h"
#include "bind/bind.h"
#include "eager/eager.h"
#include "eager/global_hook.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

class CallRecorder final : public EagerInterpreter {
 public:
  nb::list calls;

 protected:
  void execute(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<Tensor> out) override {
    note(op, in, attrs, true);
    EagerInterpreter::execute(op, in, attrs, out);
  }
  void viewed(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, const Tensor&) override {
    note(op, in, attrs, false);
  }

 private:
  /// Inputs as they are now: a later write must not change them.
  void note(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, bool copy) {
    static const Op clone{"clone"};
    nb::list inputs;
    for (const Tensor& t : in) {
      Tensor kept = t.defined() ? t.alias() : t;
      if (t.defined() && copy && !t->wrapped && !t->global) {
        kept = Tensor();
        execute_here(clone.def(), {&t, 1}, clone.def().default_attrs(), {&kept, 1});
      } else if (t.defined()) {
        kept->wrapped = t->wrapped;
      }
      inputs.append(nb::steal(wrap(kept)));
    }
    nb::dict named;
    for (size_t i = 0; i < attrs.size(); ++i) named[op.attrs()[i].name.c_str()] = attr_object(attrs[i]);
    calls.append(nb::make_tuple(nb::str(op.name().c_str()), inputs, named));
  }
};

}  // namespace

void bind_call_recorder(nb::module_& m) {
  m.def("record_calls", [](nb::callable f) {
    CallRecorder recorder;
    Interpreter* before = set_thread_interpreter(&recorder);
    try {
      f();
    } catch (...) {
      set_thread_interpreter(before);
      throw;
    }
    set_thread_interpreter(before);
    return recorder.calls;
  });
}

}  // namespace hw::bind
