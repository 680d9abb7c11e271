// The registry of ops: filled before main, then only read.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "op/op_def.h"

namespace hw {

static std::map<std::string, OpDef*, std::less<>>& ops() {
  static auto* map = new std::map<std::string, OpDef*, std::less<>>;
  return *map;
}

/// "x y" -> bits of the inputs or outputs called so.
static void resolve_saved(std::string_view saved, const std::vector<std::string>& names, uint64_t& bits) {
  for (size_t i = 0; i < names.size(); ++i) {
    size_t at = 0;
    while ((at = saved.find(names[i], at)) != std::string_view::npos) {
      size_t end = at + names[i].size();
      if ((at == 0 || saved[at - 1] == ' ') && (end == saved.size() || saved[end] == ' ')) bits |= uint64_t{1} << i;
      at = end;
    }
  }
}

RegisterOp::RegisterOp(OpDef def, const char* file) {
  std::string_view path = file;
  size_t at = path.rfind("src/ops/");
  def.file_ = path.substr(at == std::string_view::npos ? 0 : at);
  def.method_ =
      def.method_ && !def.inputs_.empty() && !def.order_.empty() && def.order_[0] == 0 && !def.inputs_[0].variadic;
  std::vector<std::string> ins, outs;
  for (const InputDef& i : def.inputs_) ins.push_back(i.name);
  for (const OutputDef& o : def.outputs_) outs.push_back(o.name);
  resolve_saved(def.saved_, ins, def.saved_inputs_);
  resolve_saved(def.saved_, outs, def.saved_outputs_);
  // Bits go by flattened position: a list at the end leaves those before it in place, another moves those behind it.
  if (def.variadic_ >= 0) {
    const size_t list = static_cast<size_t>(def.variadic_);
    if (list + 1 == def.inputs_.size() && def.saved_inputs_ >> list & 1)
      def.saved_inputs_ |= ~uint64_t{0} << list;
    else if (list + 1 != def.inputs_.size() && def.saved_inputs_)
      def.saved_inputs_ = ~uint64_t{0};
  }
  for (const AttrDef& a : def.attrs_) {
    def.defaults_.push_back(a.otherwise);
    def.needs_attrs_ |= a.required;
  }
  std::string name = def.name_;
  if (!ops().emplace(name, new OpDef(std::move(def))).second) bug("op '", name, "' is declared twice");
}

const OpDef* find_op(std::string_view name) {
  auto it = ops().find(name);
  return it == ops().end() ? nullptr : it->second;
}

const OpDef& get_op(std::string_view name) {
  if (const OpDef* op = find_op(name)) return *op;
  std::string near;
  for (const auto& [other, op] : ops())
    if (other.find(name) != std::string::npos || name.find(other) != std::string_view::npos) near += " " + other;
  fail(ErrorKind::Key, "there is no op '", name, "'", near.empty() ? "" : "; similar names:", near);
}

const std::vector<const OpDef*>& all_ops() {
  static const auto* list = [] {
    auto* made = new std::vector<const OpDef*>;
    for (const auto& [name, op] : ops()) made->push_back(op);
    return made;
  }();
  return *list;
}

}  // namespace hw
