// The graph object that several topics of the binding hand out.
#pragma once

#include "ir/graph.h"

namespace hw::bind {

struct PyGraph {
  Graph graph;
};

}  // namespace hw::bind
