// The vocabulary of graph text: what is declared of the attributes of each op.
#include "op/vocabulary.h"

#include "op/op_def.h"

namespace hw {

namespace {

class Declared final : public OpVocabulary {
 public:
  bool attr(std::string_view name, size_t index, AttrWord& word) const override {
    const OpDef* op = find_op(name);
    if (!op || index >= op->attrs().size()) return false;
    const AttrDef& def = op->attrs()[index];
    word = {def.name, def.kind, def.required ? nullptr : &def.otherwise};
    return true;
  }
};

}  // namespace

const OpVocabulary& op_vocabulary() {
  static const Declared declared;
  return declared;
}

}  // namespace hw
