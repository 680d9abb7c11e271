// Checking a node against the declaration of its operator, before any rule is asked.
#include "op/node_call.h"

#include "base/text.h"
#include "ir/graph.h"
#include "op/op_def.h"

namespace hw {

namespace {

bool is_number(AttrValue::Kind k) {
  using K = AttrValue::Kind;
  return k == K::Bool || k == K::Int || k == K::Float || k == K::Scalar;
}

bool kind_fits(const AttrDef& def, const AttrValue& value) {
  using K = AttrValue::Kind;
  if (value.none()) return def.nullable || def.otherwise.none();
  if (value.kind() == def.kind || (is_number(value.kind()) && is_number(def.kind))) return true;
  if (value.kind() == K::Text) return def.text_allowed;
  return value.kind() == K::Int && def.kind == K::Ints;
}

}  // namespace

std::string node_call_problem(const OpDef& op, const Node& node) {
  const size_t declared = op.inputs().size(), given = node.inputs.size();
  const bool fits = op.variadic_index() < 0 ? given == declared : given + 1 >= declared;
  if (!fits) return text(op.name(), " takes ", declared, " inputs, the node has ", given);
  if (!op.infer_rule() && node.outputs.size() != op.outputs().size())  // a rule may leave optional outputs out
    return text(op.name(), " has ", op.outputs().size(), " outputs, the node ", node.outputs.size());
  if (node.attrs.size() != op.attrs().size())
    return text(op.name(), " has ", op.attrs().size(), " attributes, the node ", node.attrs.size());
  for (size_t i = 0; i < node.attrs.size(); ++i)
    if (!kind_fits(op.attrs()[i], node.attrs[i]))
      return text("attribute ", op.attrs()[i].name, " cannot be ", node.attrs[i]);
  for (const AttrBinding& b : node.bindings)
    if (!op.attrs()[static_cast<size_t>(b.attr)].dynamic)
      return text("attribute ", op.attrs()[static_cast<size_t>(b.attr)].name, " cannot change from run to run");
  return {};
}

}  // namespace hw
