// Sizes of LSTM layers, and copies of inputs that are not contiguous.
#include "kernels/rnn/lstm.h"

#include "core/shape.h"
#include "kernels/linalg/product.h"

namespace hw {

bool LstmRequest::read(const KernelRequest& request, std::string& why_not) {
  const bool grad = request.op == "_lstm_layer_grad";
  const TensorSpec& gates = request.inputs[grad ? 3 : 0];
  dtype = gates.dtype;
  for (const TensorSpec& s : request.inputs)
    if ((s.given() && s.dtype != dtype) || (dtype != DType::F32 && dtype != DType::F64)) {
      why_not = "serves f32 and f64, all inputs alike";
      return false;
    }
  steps = gates.shape[0], batch = gates.shape[1], hidden = gates.shape[2] / 4;
  reverse = request.attrs[0].truth();
  for (const TensorSpec& s : request.inputs) {
    inputs_.push_back(s);
    offsets_.push_back(kInPlace);
    if (!s.given() || is_contiguous(s.shape, s.strides)) continue;
    offsets_.back() = copy_bytes_;
    copy_bytes_ += (static_cast<size_t>(s.numel() * dtype_size(s.dtype)) + 63) / 64 * 64;
  }
  return true;
}

void LstmRequest::copy_inputs(const KernelArgs& args) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (offsets_[i] != kInPlace) gather(args.inputs[i], inputs_[i], static_cast<char*>(args.scratch) + offsets_[i]);
}

}  // namespace hw
