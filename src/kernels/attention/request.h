// What an attention op asks of a kernel.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/kernel.h"

namespace hw {

/// Query [batch, heads, rows, width], key [batch, key_heads, columns, width], value [batch, key_heads, columns, value_width];
/// each key head serves heads / key_heads query heads. The mask is [batch, heads, rows, columns], often with strides of 0.
struct AttentionRequest {
  int64_t batch = 0, heads = 0, key_heads = 0, rows = 0, columns = 0, width = 0, value_width = 0;
  TensorSpec q, k, v, mask;  // mask not given: none
  bool causal = false;       // row i sees columns up to i
  bool nan_rows = false;     // a row that sees nothing is NaN, else zero
  double scale = 1;

  int64_t group() const { return heads / key_heads; }
  /// Columns that row i sees at most.
  int64_t visible(int64_t row) const { return causal ? std::min(columns, row + 1) : columns; }
};

/// Reads _attention(query, key, value, mask?; is_causal, scale, nan_rows) -> y, lse and
/// _attention_grad(dy, query, key, value, y, lse, mask?; is_causal, scale) -> dq, dk, dv.
bool read_attention(const KernelRequest& request, AttentionRequest& out, std::string& why_not);

}  // namespace hw
