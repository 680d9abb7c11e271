// The thread's interpreter, and calls by name.
#include "op/call.h"

#include "base/error.h"

namespace hw {

static Interpreter* g_default = nullptr;
static thread_local Interpreter* t_current = nullptr;

Interpreter& interpreter() {
  if (t_current) return *t_current;
  if (!g_default) bug("no interpreter is installed");
  return *g_default;
}
void set_default_interpreter(Interpreter* i) { g_default = i; }
Interpreter* set_thread_interpreter(Interpreter* i) noexcept { return std::exchange(t_current, i); }

/// The attributes in full; the op's own defaults, without a copy, when none are given.
static const Attrs& filled(const OpDef& op, std::initializer_list<AttrValue> given, Attrs& attrs) {
  if (given.size() == 0 && !op.needs_attrs()) return op.default_attrs();
  attrs.assign(given);
  if (attrs.size() > op.attrs().size()) bug("op ", op.name(), " was called with too many attributes");
  for (size_t i = attrs.size(); i < op.attrs().size(); ++i) {
    if (op.attrs()[i].required) bug("op ", op.name(), " was called without attribute '", op.attrs()[i].name, "'");
    attrs.push_back(op.attrs()[i].otherwise);
  }
  return attrs;
}

Tensor Op::operator()(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs) const {
  return (*this)(std::span<const Tensor>(in.begin(), in.size()), attrs);
}
Tensor Op::operator()(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs) const {
  const OpDef& op = def();
  Attrs full;
  if (op.kind() == OpKind::Composite || op.outputs().size() != 1)
    return interpreter().call(op, in, filled(op, attrs, full)).at(0);
  Tensor out;
  interpreter().run(op, in, filled(op, attrs, full), {&out, 1});
  return out;
}
Tensors Op::all(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs) const {
  return all(std::span<const Tensor>(in.begin(), in.size()), attrs);
}
Tensors Op::all(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs) const {
  Attrs full;
  return interpreter().call(def(), in, filled(def(), attrs, full));
}
Tensor Op::inplace(std::initializer_list<Tensor> in, std::initializer_list<AttrValue> attrs) const {
  return inplace(std::span<const Tensor>(in.begin(), in.size()), attrs);
}
Tensor Op::inplace(std::span<const Tensor> in, std::initializer_list<AttrValue> attrs) const {
  Attrs full;
  return interpreter().call_inplace(def(), in, filled(def(), attrs, full));
}

}  // namespace hw
