// form_regions: neighbours that can be split alike are run tile by tile; see regions/.
#include "compiler/regions/form_regions.h"
#include "compiler/pass.h"

namespace hw {

static const RegisterPass pass({"form_regions", Stage::Fuse, "runs elementwise operators and reductions tile by tile",
                                [](Graph& graph, const PassOptions&) { return hw::form_regions(graph) > 0; }});

}  // namespace hw
