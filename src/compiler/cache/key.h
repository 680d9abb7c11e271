// What a compiled program depends on, as one number.
#pragma once

#include "base/hash.h"
#include "compiler/pipeline.h"

namespace hw {

/// Of the graph with the contents of its constants, the passes and their switches, the options, this build, the machine's
/// instruction set and processor, the number of threads and the modes that rules and kernels read.
Hash128 program_key(const Graph& graph, const PipelineOptions& options);

}  // namespace hw
