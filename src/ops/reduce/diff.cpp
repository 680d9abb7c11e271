// diff: differences of neighbours.
#include "base/error.h"
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op = OpDef("diff")
                                 .doc("Returns the n-th differences of neighbours along the axis `dim`.")
                                 .example(">>> hw.diff(hw.tensor([1, 4, 9]))\ntensor([3, 5])")
                                 .in("input", "at least one axis", any_dtype)
                                 .attr("n", 1, "how often the difference is taken")
                                 .attr("dim", -1, "the axis")
                                 .in_optional("prepend", "put before the input along the axis", any_dtype)
                                 .in_optional("append", "put after the input along the axis", any_dtype)
                                 .out("y")
                                 .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
                                   Tensor x = in[0];
                                   check_runtime(x.ndim() > 0, "diff needs at least one axis, got a 0-d tensor");
                                   check_runtime(attrs[0].i64() >= 0, "n cannot be negative, got ", attrs[0].i64());
                                   const int64_t dim = normalize_axis(attrs[1].i64(), x.ndim());
                                   if (attrs[0].i64() > 0 && (in[1].defined() || in[2].defined())) {
                                     Tensors list;
                                     if (in[1].defined()) list.push_back(in[1]);
                                     list.push_back(x);
                                     if (in[2].defined()) list.push_back(in[2]);
                                     x = cat(list, dim);
                                   }
                                   for (int64_t i = 0; i < attrs[0].i64(); ++i) {
                                     const int64_t n = x.size(dim) - 1;
                                     if (n <= 0) return {narrow(x, dim, 0, 0)};
                                     Tensor low = narrow(x, dim, 0, n), high = narrow(x, dim, 1, n);
                                     x = x.dtype() == DType::Bool ? ne(high, low) : high - low;
                                   }
                                   return {x};
                                 });

}  // namespace hw
