// The registry of passes: filled before main, then only read.
#include "compiler/pass.h"

#include <algorithm>

#include "base/error.h"

namespace hw {

static std::vector<Pass>& passes() {
  static auto* list = new std::vector<Pass>;
  return *list;
}

RegisterPass::RegisterPass(Pass pass) {
  std::vector<Pass>& list = passes();
  auto at =
      std::lower_bound(list.begin(), list.end(), pass, [](const Pass& a, const Pass& b) { return a.name < b.name; });
  if (at != list.end() && at->name == pass.name) bug("pass '", pass.name, "' is registered twice");
  list.insert(at, pass);
}

const std::vector<Pass>& all_passes() { return passes(); }

const Pass& get_pass(std::string_view name) {
  std::string names;
  for (const Pass& p : passes()) {
    if (p.name == name) return p;
    append_text(names, text(names.empty() ? "" : ", ", p.name));
  }
  fail(ErrorKind::Key, "there is no pass '", name, "'; there are ", names);
}

std::string_view stage_name(Stage stage) {
  static constexpr std::string_view kNames[] = {"simplify", "precision", "distribute", "decompose", "layout",
                                                "fuse",     "remat",     "schedule",   "memory"};
  return kNames[static_cast<size_t>(stage)];
}

}  // namespace hw
