// Which random ops may leave their input split.
#include "op/split_draw.h"

#include <map>

namespace hw {

static std::map<std::string, SplitDraw, std::less<>>& table() {
  static std::map<std::string, SplitDraw, std::less<>> t;
  return t;
}

RegisterSplitDraw::RegisterSplitDraw(const char* op, SplitDraw draw) { table()[op] = draw; }

SplitDraw split_draw_of(const OpDef& op) {
  auto it = table().find(op.name());
  return it == table().end() ? nullptr : it->second;
}

}  // namespace hw
