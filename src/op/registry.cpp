// The registry of ops: filled before main, then only read.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "op/saved.h"

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

/// By op: for each input the inputs whose gradients read it. Few ops say so.
static std::unordered_map<const OpDef*, std::vector<uint64_t>>& readers() {
  static auto* map = new std::unordered_map<const OpDef*, std::vector<uint64_t>>;
  return *map;
}

uint64_t readers_of_input(const OpDef& op, size_t i) {
  auto it = readers().find(&op);
  return it == readers().end() || i >= it->second.size() ? ~uint64_t{0} : it->second[i];
}

/// Takes the ":other" out of "input:other", and gives the readers of each input; empty if none is named.
static std::vector<uint64_t> resolve_readers(std::string& saved, const std::vector<std::string>& names) {
  std::vector<uint64_t> found;
  for (size_t colon; (colon = saved.find(':')) != std::string::npos;) {
    size_t begin = saved.rfind(' ', colon) + 1, end = std::min(saved.find(' ', colon), saved.size());
    const std::string name = saved.substr(begin, colon - begin), reader = saved.substr(colon + 1, end - colon - 1);
    auto at = [&](const std::string& n) {
      auto it = std::find(names.begin(), names.end(), n);
      if (it == names.end()) bug("'", saved, "' names '", n, "', which is no input");
      return static_cast<size_t>(it - names.begin());
    };
    found.resize(names.size(), ~uint64_t{0});
    found[at(name)] = uint64_t{1} << at(reader);
    saved.erase(colon, end - colon);
  }
  return found;
}

RegisterOp::RegisterOp(const OpDef& declared, const char* file) {
  OpDef def = declared;
  std::string_view path = file;
  size_t at = path.rfind("src/ops/");
  def.file_ = path.substr(at == std::string_view::npos ? 0 : at);
  def.method_ =
      def.method_ && !def.inputs_.empty() && !def.order_.empty() && def.order_[0] == 0 && !def.inputs_[0].variadic;
  std::vector<std::string> ins, outs;
  for (const InputDef& i : def.inputs_) ins.push_back(i.name);
  for (const OutputDef& o : def.outputs_) outs.push_back(o.name);
  std::vector<uint64_t> read_by = resolve_readers(def.saved_, ins);
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
  auto [entry, added] = ops().emplace(name, new OpDef(def));
  if (!added) bug("op '", name, "' is declared twice");
  if (!read_by.empty()) readers().emplace(entry->second, std::move(read_by));
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
