// recompute: gives up values that wait for a late use and computes them again there, until the working memory fits the budget.
#include <algorithm>

#include "base/error.h"
#include "compiler/pass.h"
#include "compiler/recomputing.h"

namespace hw {

static bool recompute(Graph& graph, const PassOptions& options) {
  const int64_t budget = options.memory_budget;
  if (budget <= 0) return false;
  bool changed = false;
  Recomputing again(graph);
  int64_t least = again.peak();
  const size_t most_nodes = 4 * graph.order.size();
  while (again.peak() > budget && graph.order.size() < most_nodes) {
    const std::vector<Recomputing::Choice> choices = again.choices();
    if (choices.empty()) break;
    again.apply(*std::min_element(choices.begin(), choices.end(),
                                  [](const auto& a, const auto& b) { return a.price() < b.price(); }));
    changed = true;
    again.look();
    least = std::min(least, again.peak());
  }
  check_runtime(again.peak() <= budget, "memory_budget: ", graph.name, " needs ", least,
                " bytes of working memory even when everything that can be computed again is; the budget is ", budget);
  return changed;
}

static const RegisterPass pass({"recompute", Stage::Remat,
                                "computes values again instead of keeping them, to fit memory_budget", &recompute});

}  // namespace hw
