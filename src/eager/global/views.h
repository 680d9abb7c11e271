// Views of global tensors.
#pragma once

#include "eager/global/global_tensor.h"

namespace hw {

/// Makes `view`, the logical view of `base` by `how`, global. Its parts are views of the base's parts where these lie as the op needs
/// them and their memory allows it, else it becomes a moved view.
void make_global_view(const Tensor& view, const Tensor& base, MovedView how, const Place* place);
/// Puts results that lie at `place` into a global tensor that exists, where it lies.
void write_parts(const Tensor& to, const TensorSpec& spec, const Place* place, Tensors parts);

}  // namespace hw
