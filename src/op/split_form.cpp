// Which ops have a form for split inputs.
#include "op/split_form.h"

#include <map>

namespace hw {

namespace {

struct Forms {
  SplitForm form = nullptr;
  SplitDraw draw = nullptr;
  RankAttrs attrs = nullptr;
  RowsForm rows;
};

std::map<std::string, Forms, std::less<>>& table() {
  static std::map<std::string, Forms, std::less<>> t;
  return t;
}

Forms forms_of(const OpDef& op) {
  auto it = table().find(op.name());
  return it == table().end() ? Forms{} : it->second;
}

SplitWithin g_split_within = nullptr;

}  // namespace

void set_split_within(SplitWithin f) { g_split_within = f; }
bool split_within(const Tensor& t, int64_t first, int64_t last) {
  return t->global && g_split_within && g_split_within(t, first, last);
}

RegisterSplitForm::RegisterSplitForm(const char* op, SplitForm form) { table()[op].form = form; }
RegisterSplitForm::RegisterSplitForm(const char* op, SplitDraw draw) { table()[op].draw = draw; }
RegisterSplitForm::RegisterSplitForm(const char* op, RankAttrs attrs) { table()[op].attrs = attrs; }
RegisterSplitForm::RegisterSplitForm(const char* op, const RowsForm& form) { table()[op].rows = form; }
SplitForm split_form_of(const OpDef& op) { return forms_of(op).form; }
SplitDraw split_draw_of(const OpDef& op) { return forms_of(op).draw; }
RankAttrs rank_attrs_of(const OpDef& op) { return forms_of(op).attrs; }
const RowsForm* rows_form_of(const OpDef& op) {
  auto it = table().find(op.name());
  return it != table().end() && it->second.rows.before ? &it->second.rows : nullptr;
}

}  // namespace hw
