// The outlet: where values of a run come out to the caller, on the caller's own thread.
#pragma once

#include "runtime/behaviour.h"

namespace hw {

bool is_outlet(const Behaviour& behaviour);
bool outlet_has(const Behaviour& outlet);
/// What its last firing read, by input.
std::vector<Payload> outlet_take(Behaviour& outlet);

}  // namespace hw
