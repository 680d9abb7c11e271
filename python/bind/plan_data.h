// A program's passes and plan as Python data, for headwater.compiler.inspection.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/program/program.h"

namespace hw::bind {

nanobind::dict plan_data(const Program& program);
/// The passes in their order: (name, stage, what it does).
nanobind::list pass_list();

}  // namespace hw::bind
