// Kernels made from elementwise loops: for any layout, any dtype, any number of threads.
#pragma once

#include "kernels/elementwise/loops.h"
#include "kernels/kernel.h"

namespace hw {

std::unique_ptr<Kernel> prepare_elementwise(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> prepare_elementwise_reference(const KernelRequest& request, std::string& why_not);

void register_elementwise_kernel(std::string_view op, std::string_view name, int priority, PrepareFn prepare);

/// What both kernels find out first: the loop, its parameters, and every operand as strides over the output's shape.
struct ElementwisePlan {
  const ElementwiseEntry* entry = nullptr;
  LoopParams params;
  Dims shape;
  std::vector<DType> dtypes;    // the output's, then the inputs'
  std::vector<Dims> strides;    // likewise
  bool checks_divisor = false;  // an integer division: zeros in the second input are reported
};
using FindLoop = const ElementwiseEntry* (*)(std::string_view op, DType compute);
bool make_elementwise_plan(const KernelRequest& request, FindLoop find, ElementwisePlan& plan, std::string& why_not);

/// Reports if an integer buffer has a zero.
void report_zero_divisor(DType dtype, const void* divisor, int64_t n, LaunchStatus* status);

}  // namespace hw
