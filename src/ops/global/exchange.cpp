// _exchange: pieces of global tensors between the processes of a job, in a captured graph.
#include "base/error.h"
#include "op/cost.h"
#include "op/rules.h"

namespace hw {

/// The token, and what comes: `shapes` holds the number of axes of each piece and then their sizes.
static std::vector<TensorSpec> infer(const InferCtx& c) {
  const DType dtype = c.attr("dtype").dtype();
  const Dims &to = c.attr("to").ints(), &from = c.attr("from").ints(), &shapes = c.attr("shapes").ints();
  check(c.in.size() == to.size() + 1, to.size(), " processes for ", c.in.size() - 1, " pieces");
  for (const TensorSpec& s : c.in.subspan(1)) check_type(s.dtype == dtype, "a piece of ", s.dtype, " among ", dtype);
  std::vector<TensorSpec> out{c.in[0]};
  size_t at = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    check(at < shapes.size() && shapes[at] >= 0 && static_cast<size_t>(shapes[at]) < shapes.size() - at,
          "shapes end before those of ", from.size(), " pieces");
    const auto axes = static_cast<size_t>(shapes[at]);
    TensorSpec piece;
    piece.dtype = dtype;
    for (size_t a = 1; a <= axes; ++a) piece.shape.push_back(shapes[at + a]);
    piece.strides = contiguous_strides(piece.shape);
    out.push_back(std::move(piece));
    at += axes + 1;
  }
  check(at == shapes.size(), "more shapes than the ", from.size(), " pieces have");
  return out;
}

static const RegisterOp op =
    OpDef("_exchange")
        .doc(
            "Sends pieces to other processes and returns the token and the pieces that come from them. The token is "
            "one "
            "byte of state that each exchange writes anew: so exchanges stay in the order of the program, which is the "
            "same on all processes, and none is dropped, merged or made twice.")
        .in("token", "one byte", dtype_bit(DType::U8))
        .in_list("pieces", "what is sent")
        .attr_required("to", AttrValue::Kind::Ints, "the process that each piece goes to")
        .attr_required("from", AttrValue::Kind::Ints, "the process that each result comes from")
        .attr_required("shapes", AttrValue::Kind::Ints, "of the results: the number of axes of each, then their sizes")
        .attr_required("dtype", AttrValue::Kind::DType, "of all pieces")
        .out("token")
        .out("received...")
        .infer(infer)
        .flops(cost::bandwidth_bound)
        .internal()
        .no_sbp("it is what ranks of different processes say to each other")
        .no_grad("boxing has a gradient")
        .no_onnx("a frozen model is for one device");

}  // namespace hw
