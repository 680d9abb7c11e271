// Adding a call to a graph.
#include "compiler/add_call.h"

#include "compiler/check_graph.h"

namespace hw {

ValueId add_call(Rewriter& r, NodeId before, std::string op, std::vector<ValueId> inputs, Attrs attrs) {
  const TensorSpec spec = inferred_outputs(r.graph(), Node{op, inputs, {}, attrs, {}, 0, {}}).at(0);
  return r.add(before, std::move(op), std::move(inputs), std::move(attrs), spec);
}

}  // namespace hw
