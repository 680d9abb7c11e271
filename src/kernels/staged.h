// Runs a kernel that wants contiguous operands of one dtype on operands that are not: copies in, copies out.
#pragma once

#include "kernels/kernel.h"

namespace hw {

/// Prepares `inner` for contiguous operands of dtype `compute` (floating operands only are converted) and wraps it.
/// Operands that already fit are passed through; when all of them do, the inner kernel is returned itself.
std::unique_ptr<Kernel> prepare_staged(const KernelRequest& request, DType compute, PrepareFn inner,
                                       std::string& why_not);

}  // namespace hw
