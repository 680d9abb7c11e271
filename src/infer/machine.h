// What `headwater run --fit` found for a machine, and kept in the file as a note.
#pragma once

#include <string>

#include "plan/frozen.h"

namespace hw::infer {

/// The machine that this process runs on, as notes name it: processor, instruction set, cores that may be used.
std::string machine_name();

/// Threads that are fastest here, by the note "fit <machine_name()>" of the form "threads=2"; 0 where there is none, or it says else.
int fitted_threads(const FrozenModel& model);

}  // namespace hw::infer
