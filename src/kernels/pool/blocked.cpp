// Reads _max_pool2d_blocked.
#include "kernels/pool/blocked.h"

namespace hw {

bool read_blocked_pool(const KernelRequest& request, BlockedPool& out, std::string& why_not) {
  const TensorSpec &x = request.inputs[0], &y = request.outputs[0];
  if (x.dtype != DType::F32 || !x.contiguous() || !y.contiguous()) {
    why_not = "serves contiguous f32";
    return false;
  }
  out.planes = x.shape[0] * x.shape[1], out.block = x.shape[4];
  for (size_t a = 0; a < 2; ++a) {
    const auto of = [&](size_t attr) {
      const Dims& values = request.attrs[attr].ints();
      return values[values.size() == 1 ? 0 : a];
    };
    out.axis[a] = {x.shape[a + 2], y.shape[a + 2], of(0), of(1), of(2), of(3)};
  }
  return true;
}

}  // namespace hw
