// What a profiler recorded, for headwater.profiler.
#pragma once

namespace nanobind {
class module_;
}

namespace hw::bind {

void bind_trace(nanobind::module_& m);

}  // namespace hw::bind
