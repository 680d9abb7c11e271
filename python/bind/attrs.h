// Values of attributes as Python objects and back.
#pragma once

#include <nanobind/nanobind.h>

#include "op/op_def.h"

namespace hw::bind {

nanobind::object attr_object(const AttrValue& value);
/// Converted to the declared kind; throws Error{Type} for what does not fit.
AttrValue attr_from(const AttrDef& declared, nanobind::handle object);

}  // namespace hw::bind
