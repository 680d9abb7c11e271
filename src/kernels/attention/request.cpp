// Reads an attention op; see the header.
#include <algorithm>

#include "kernels/attention/request.h"

#include "base/error.h"

namespace hw {

bool read_attention(const KernelRequest& request, AttentionRequest& out, std::string& why_not) {
  bool grad = request.op == "_attention_grad";
  size_t first = grad ? 1 : 0, mask = grad ? 6 : 3;
  out = {};
  out.q = request.inputs[first], out.k = request.inputs[first + 1], out.v = request.inputs[first + 2];
  if (request.inputs.size() > mask && request.inputs[mask].given()) out.mask = request.inputs[mask];
  if (!is_floating(out.q.dtype)) {
    why_not = "serves floating dtypes";
    return false;
  }
  check(out.q.ndim() == 4 && out.k.ndim() == 4 && out.v.ndim() == 4, request.op, ": query, key and value need 4 axes");
  out.batch = out.q.shape[0], out.heads = out.q.shape[1], out.rows = out.q.shape[2], out.width = out.q.shape[3];
  out.key_heads = out.k.shape[1], out.columns = out.k.shape[2], out.value_width = out.v.shape[3];
  check(out.key_heads > 0 ? out.heads % out.key_heads == 0 : out.heads == 0, request.op, ": ", out.heads,
        " query heads do not divide among ", out.key_heads, " key heads");
  out.causal = request.attrs[0].truth();
  out.scale = request.attrs[1].f64();
  out.nan_rows = !grad && request.attrs.size() > 2 && request.attrs[2].truth();
  return true;
}

}  // namespace hw
