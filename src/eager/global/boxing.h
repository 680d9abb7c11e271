// Boxing: global tensors from one placement to another.
#pragma once

#include "eager/global/global_tensor.h"

namespace hw {

/// The parts of `t` as `to` wants them. They may be views of t's own parts: clone before writing. `into`: where they may lie if that
/// saves a copy; look whether they do.
Tensors boxed_parts(const Tensor& t, const Place* to, const Tensors& into = {});
/// The part of `whole` that each hosted rank holds; a value that every process has. Views, except where partial.
Tensors parts_of_whole(const Tensor& whole, const Place* to);

// On the tape, through the op `_boxing`:
Tensor to_place(const Tensor& t, const Place* to);  // global or whole; itself if it lies so already
Tensor whole_of(const Tensor& t);                   // an ordinary tensor; itself if it is one

/// What this thread computes that other processes do not, as "stage 1"; empty: nothing. Meanwhile nothing is brought to ranks beyond
/// the value's own, because those would wait for it in vain. Returns what was set before.
std::string set_apart(std::string work);

/// While set, the gradient of a leaf without hooks stays the partial sum that it comes as: micro-batches add up on each rank, and who
/// set it moves the sums afterwards.
inline thread_local bool t_defer_sums = false;

/// Whether nobody else holds the parts of a global tensor, and they are dense: then they may be taken over, or written to.
bool holds_alone(const Tensor& t);

/// Runs `_boxing`, without the tape.
void run_boxing(const Tensor& in, const Attrs& attrs, std::span<Tensor> out);

/// From now on calls on global tensors are recognised.
void use_global_tensors();

}  // namespace hw
