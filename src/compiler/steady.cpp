// Telling inference, and what is steady in it.
#include "compiler/steady.h"

#include <algorithm>

#include "ir/rewrite.h"

namespace hw {

bool gives_outputs_only(const Graph& graph) {
  return std::all_of(graph.results.begin(), graph.results.end(),
                     [](const GraphResult& r) { return r.kind == GraphResult::Kind::Output; });
}

std::vector<bool> steady_values(const Graph& graph) {
  return computed_from(graph, 1u << static_cast<unsigned>(GraphSource::Kind::State) |
                                  1u << static_cast<unsigned>(GraphSource::Kind::Constant));
}

}  // namespace hw
