// Regions: operators that are run together, tile by tile, so that what passes between them stays in the cache.
#pragma once

#include "ir/graph.h"

namespace hw {

/// The op of a node whose body is run in tiles. attrs: {loops: sizes of the looped axes; axes: for each value of the body, for each
/// loop, the axis of the value that the loop walks along, or -1}.
inline constexpr std::string_view kRegion = "_region";

/// How a node follows the loops: for each loop, the axis of each input and of each output, or -1 where it is whole.
struct NodeAxes {
  std::vector<SmallVec<int32_t, 8>> inputs, outputs;
};

/// How `node` can be split along every loop when its inputs have the given axes; inputs whose axes are unknown (an empty list) are
/// chosen by the op's split rule. `output`: the wanted axes of its outputs, empty: whatever follows. Loops at the end that cannot be
/// split are dropped: the result's lists are as long as the number of loops that remain. 0 loops: it cannot be tiled.
NodeAxes follow_loops(const Graph& graph, const Node& node, std::span<const SmallVec<int32_t, 8>> known, size_t loops);

/// Whether an op may stand in a region: cheap for each byte it moves, without state, and the same for each piece.
bool is_tileable(const Node& node);

}  // namespace hw
