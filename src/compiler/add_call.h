// Adding a call whose output follows from the rules of its operator.
#pragma once

#include <string>

#include "ir/rewrite.h"

namespace hw {

/// Before `before`; the first output. Throws what the rules throw.
ValueId add_call(Rewriter& r, NodeId before, std::string op, std::vector<ValueId> inputs, Attrs attrs);

}  // namespace hw
