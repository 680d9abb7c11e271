// _lstm_layer_grad: the gradients of _lstm_layer for all steps at once.
#include "base/error.h"
#include "op/rules.h"

namespace hw {

static std::vector<TensorSpec> infer(const InferCtx& c) {
  TensorSpec gates = c.in[3], state = c.in[1];
  for (size_t i : {4, 5})
    if (c.in[i].given() && !(c.in[i].shape == c.in[2].shape))
      bug("a gradient of _lstm_layer has shape ", c.in[i].shape, ", the output ", c.in[2].shape);
  gates.strides.clear(), state.strides.clear();
  return {gates, state, state};
}

static const RegisterOp op =
    OpDef("_lstm_layer_grad")
        .doc("Gradients of _lstm_layer for projected, h0 and c0. That of w_hh is a product of d_projected and output.")
        .in("w_hh", "as given to _lstm_layer", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("c0", "as given to _lstm_layer", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("cells", "as _lstm_layer returned them", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in("gates", "as _lstm_layer returned them", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in_optional("d_output", "gradient of output", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .in_optional("d_cells", "gradient of cells", dtype_bit(DType::F32) | dtype_bit(DType::F64))
        .attr("reverse", false, "from the last step to the first")
        .infer(infer)
        .out("d_projected")
        .out("d_h0")
        .out("d_c0")
        .internal()
        .sbp([](SbpCtx& c) {
          std::vector<Sbp> in{broadcast(), split(0), split(1), split(1), split(1), split(1)};
          for (size_t i : {4, 5})
            if (!c.in()[i].given()) in[i] = broadcast();
          c.add(std::move(in), {split(1), split(0), split(0)});
        })
        .flops([](const InferCtx& c) {
          return 2.0 * static_cast<double>(c.in[3].numel()) * static_cast<double>(c.in[0].shape[1]);
        })
        .no_grad("a backward pass that is recorded uses elementary operators instead")
        .no_onnx("a gradient");

}  // namespace hw
