// What is known of a tensor without its data.
#pragma once

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace hw {

/// dtype None stands for an optional input that was not given.
struct TensorSpec {
  DType dtype = DType::None;
  bool wrapped = false;  // a Python number: gives way to tensors of its own category in type promotion
  Device device;
  Dims shape;
  Dims strides;  // in elements; empty in an output that is to be allocated contiguous

  bool given() const { return dtype != DType::None; }
  int64_t ndim() const { return static_cast<int64_t>(shape.size()); }
  int64_t numel() const { return hw::numel(shape); }
  bool contiguous() const { return (strides.empty() && !shape.empty()) || is_contiguous(shape, strides); }
};

void append_text(std::string& out, const TensorSpec& spec);  // "f32[2, 3]"

}  // namespace hw
