// Whether a node is a call of its operator.
#pragma once

#include <string>

namespace hw {

class OpDef;
struct Node;

/// What is wrong with a node as a call of `op`, before any rule is asked: how many inputs and outputs, kinds of attributes.
std::string node_call_problem(const OpDef& op, const Node& node);

}  // namespace hw
