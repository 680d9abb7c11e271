// isin: which elements occur in a set.
#include "op/math.h"
#include "op/rules.h"

namespace hw {

static const RegisterOp op =
    OpDef("isin")
        .doc(
            "Returns, for each element, whether it is one of test_elements; with `invert`, whether it is none of them.")
        .example(">>> hw.isin(hw.tensor([1, 2, 3]), hw.tensor([3, 1]))\ntensor([ True, False,  True])")
        .in("elements", "any shape, or a number", numeric)
        .in("test_elements", "the set: any shape, or a number", numeric)
        .attr("assume_unique", false, "accepted; the set is always sorted")
        .keyword()
        .attr("invert", false, "whether to ask for the others")
        .out("y")
        .method(false)
        .composite([](std::span<const Tensor> in, const Attrs& attrs) -> Tensors {
          static const Op sort{"sort"}, search{"searchsorted"}, select{"index_select"};
          const TensorSpec specs[] = {in[0].spec(), in[1].spec()};
          DType dtype = result_type(specs);
          if (is_integral(dtype) && (in[0]->wrapped || in[1]->wrapped))
            dtype = DType::I64;  // any number can be asked for
          const int64_t n = in[1].numel();
          const bool invert = attrs[1].truth();
          const Tensor x = to(in[0].alias(), dtype), set = to(reshape(in[1].alias(), {n}), dtype);
          if (n == 0) return {full(x.shape(), Scalar(invert), DType::Bool)};
          if (n == 1) return {invert ? ne(x, reshape(set, {})) : eq(x, reshape(set, {}))};
          const Tensor sorted = sort.all({set}, {int64_t{0}, false, false})[0], flat = reshape(x, {x.numel()});
          Tensor at = minimum(search({sorted, flat}), number(Scalar(n - 1)));
          const Tensor found = select({sorted, at}, {int64_t{0}});
          return {reshape(invert ? ne(flat, found) : eq(flat, found), x.shape())};
        });

}  // namespace hw
