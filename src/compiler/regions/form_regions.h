// Grouping nodes into regions.
#pragma once

#include "ir/graph.h"

namespace hw {

/// Puts neighbours that can be tiled together into `_region` nodes. The number of regions made.
int form_regions(Graph& graph);

}  // namespace hw
