// The loop driver: contiguous operands go straight to the loop, all others by rows (rows.cpp) or tiles (tiles.cpp).
#include "kernels/elementwise/driver.h"

#include <algorithm>

#include "base/thread_team.h"
#include "kernels/elementwise/operand.h"

namespace hw {

namespace {

class EmptyKernel final : public Kernel {
 public:
  void run(const KernelArgs&) const override {}
};

/// All operands contiguous and of the loop's dtypes.
class DirectKernel final : public Kernel {
 public:
  DirectKernel(const ElementwisePlan& plan, int64_t n)
      : loop_(plan.entry->loop),
        n_(n),
        grain_(std::max<int64_t>(kPiece / plan.entry->cost, 1)),
        plan_(plan),
        params_(plan.params) {}

  void run(const KernelArgs& args) const override {
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, args.inputs[1], n_, args.status);
    if (n_ <= grain_) return loop_(args.inputs, args.outputs[0], n_, params_.data());
    run_pieces(args);
  }

 private:
  void run_pieces(const KernelArgs& args) const {
    const int64_t in_size = dtype_size(plan_.entry->compute), out_size = dtype_size(plan_.entry->out);
    parallel_for(n_, grain_, [&](int64_t begin, int64_t end) {
      const void* in[kMaxInputs];
      for (int i = 0; i < plan_.entry->arity; ++i) in[i] = static_cast<const char*>(args.inputs[i]) + begin * in_size;
      loop_(in, static_cast<char*>(args.outputs[0]) + begin * out_size, end - begin, params_.data());
    });
  }

  ElementwiseLoop loop_;
  int64_t n_, grain_;
  ElementwisePlan plan_;
  LoopParams params_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_elementwise(const KernelRequest& request, std::string& why_not) {
  ElementwisePlan plan;
  if (!make_elementwise_plan(request, &find_elementwise, plan, why_not)) return nullptr;
  Nest nest = make_nest(plan.shape, plan.strides);
  if (nest.count == 0) return std::make_unique<EmptyKernel>();
  bool direct = nest.axes() == 1 && plan.dtypes[0] == plan.entry->out;
  for (int o = 0; o <= plan.entry->arity; ++o) direct = direct && nest.stride(o, 0) == 1;
  for (int i = 1; i <= plan.entry->arity; ++i)
    direct = direct && plan.dtypes[static_cast<size_t>(i)] == plan.entry->compute;
  if (direct) return std::make_unique<DirectKernel>(plan, nest.count);
  if (int64_t axis = tiled_axis(plan, nest)) return make_tiles_kernel(plan, std::move(nest), axis);
  return make_rows_kernel(plan, std::move(nest));
}

}  // namespace hw
