// Convolution and its two gradients through oneDNN, which chooses the layouts; ours are reordered to them and back.
#include <algorithm>

#include "backends/onednn/engine.h"
#include "base/thread_team.h"
#include "kernels/conv/geometry.h"
#include "kernels/staged.h"

namespace hw::onednn {
namespace {

using Md = dnnl::memory::desc;
using MemoryDims = dnnl::memory::dims;

struct Settings {
  MemoryDims stride, dilation, pad_left, pad_right;
};

Settings settings(const ConvGeometry& g) {
  Settings s;
  for (int a = 3 - g.ndim; a < 3; ++a) {
    s.stride.push_back(g.stride[a]);
    s.dilation.push_back(g.dilation[a] - 1);
    s.pad_left.push_back(g.padding[a]);
    s.pad_right.push_back((g.out[a] - 1) * g.stride[a] + g.dilation[a] * (g.kernel[a] - 1) + 1 - g.in[a] -
                          g.padding[a]);
  }
  return s;
}

/// Weights with the group as an axis of its own.
Md describe_weights(const ConvGeometry& g, const TensorSpec& w) {
  if (g.groups == 1) return describe(w);
  MemoryDims shape{g.groups, g.group_out()}, strides{w.strides[0] * g.group_out(), w.strides[0]};
  for (size_t i = 1; i < w.shape.size(); ++i) shape.push_back(w.shape[i]), strides.push_back(w.strides[i]);
  return {shape, data_type(w.dtype), strides};
}

Md any_layout(const Md& md) { return {md.get_dims(), md.get_data_type(), dnnl::memory::format_tag::any}; }

bool reference(const char* name) { return std::string_view(name).find("ref") != std::string_view::npos; }

dnnl::convolution_forward::primitive_desc forward_desc(const Md& x, const Md& w, const Md& bias, const Md& y,
                                                       const Settings& s) {
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          any_layout(x),
          any_layout(w),
          bias,
          any_layout(y),
          s.stride,
          s.dilation,
          s.pad_left,
          s.pad_right,
          user_scratchpad(),
          true};
}

struct Operands {
  Md x, w, y, bias;
  int64_t times = 1, x_step = 0, y_step = 0;  // the batch is cut into pieces whose reordered copies stay in the cache
};

constexpr int64_t kPieceBytes = 2 * 1024 * 1024;

/// Images per piece: as many as fit, but enough for every thread, and a divisor of the batch.
int64_t images_per_piece(const ConvRequest& r) {
  int64_t image = (r.x.numel() + r.y.numel()) / r.geometry.batch * dtype_size(r.x.dtype);
  int64_t most = std::max<int64_t>(std::max<int64_t>(1, kPieceBytes / image), num_threads() > 4 ? num_threads() : 1);
  for (int64_t n = std::min(most, r.geometry.batch); n > 1; --n)
    if (r.geometry.batch % n == 0) return n;
  return 1;
}

Operands operands(const ConvRequest& r, int64_t images) {
  const ConvGeometry& g = r.geometry;
  TensorSpec x = r.x, y = r.y;
  x.shape[0] = y.shape[0] = images;
  Operands o{describe(x), describe_weights(g, r.w), describe(y), Md()};
  o.times = g.batch / images;
  o.x_step = images * x.strides[0] * dtype_size(x.dtype), o.y_step = images * y.strides[0] * dtype_size(y.dtype);
  if (r.has_bias) o.bias = Md({g.out_channels}, data_type(r.x.dtype), MemoryDims{1});
  return o;
}

/// Channels alone: a product of the weights with each image, where the image lies.
std::unique_ptr<Kernel> pointwise(const ConvRequest& r, std::string& why_not) {
  const ConvGeometry& g = r.geometry;
  bool forward = r.pass == ConvPass::Forward;
  const TensorSpec &from = forward ? r.x : r.y, &to = forward ? r.y : r.x;
  auto type = data_type(r.x.dtype);
  int64_t points = g.in_size(), k = from.shape[1], m = to.shape[1];
  int64_t row = r.w.strides[0], column = r.w.strides[1];
  if (!forward) std::swap(row, column);
  Md w({1, m, k}, type, MemoryDims{m * k, row, column});
  Md source({g.batch, k, points}, type, MemoryDims{k * points, points, 1});
  Md target({g.batch, m, points}, type, MemoryDims{m * points, points, 1});
  // The bias goes along rows here; as matmul's own bias that would fall to the reference.
  Md bias({1, m, 1}, type, MemoryDims{m, 1, 1});
  dnnl::primitive_attr attr = user_scratchpad();
  dnnl::post_ops after;
  if (r.has_bias) after.append_binary(dnnl::algorithm::binary_add, bias);
  attr.set_post_ops(after);
  dnnl::matmul::primitive_desc desc(engine(), w, source, target, attr, true);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this product";
    return nullptr;
  }
  Program program(dnnl::matmul(desc), desc.scratchpad_desc());
  program.input(DNNL_ARG_SRC, 1, w, w);
  program.input(DNNL_ARG_WEIGHTS, 0, source, source);
  if (r.has_bias) program.input(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, 2, bias, bias);
  program.output(DNNL_ARG_DST, 0, target, target);
  return std::make_unique<ProgramKernel>(std::move(program));
}

std::unique_ptr<Kernel> forward(const Operands& o, const Settings& s, std::string& why_not) {
  auto desc = forward_desc(o.x, o.w, o.bias, o.y, s);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  Program program(dnnl::convolution_forward(desc), desc.scratchpad_desc());
  program.repeat(o.times);
  program.input(DNNL_ARG_WEIGHTS, 1, o.w, desc.weights_desc());
  if (o.bias.get_size() > 0) program.input(DNNL_ARG_BIAS, 2, o.bias, desc.bias_desc());
  program.input(DNNL_ARG_SRC, 0, o.x, desc.src_desc());
  program.step(o.x_step);
  program.output(DNNL_ARG_DST, 0, o.y, desc.dst_desc());
  program.step(o.y_step);
  return std::make_unique<ProgramKernel>(std::move(program));
}

std::unique_ptr<Kernel> input_grad(const Operands& o, const Settings& s, std::string& why_not) {
  auto hint = forward_desc(o.x, o.w, Md(), o.y, s);
  if (!hint) {
    why_not = "oneDNN does not serve this";
    return nullptr;
  }
  dnnl::convolution_backward_data::primitive_desc desc(engine(), dnnl::algorithm::convolution_direct, any_layout(o.x),
                                                       any_layout(o.w), any_layout(o.y), s.stride, s.dilation,
                                                       s.pad_left, s.pad_right, hint, user_scratchpad(), true);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  Program program(dnnl::convolution_backward_data(desc), desc.scratchpad_desc());
  program.repeat(o.times);
  program.input(DNNL_ARG_WEIGHTS, 1, o.w, desc.weights_desc());
  program.input(DNNL_ARG_DIFF_DST, 0, o.y, desc.diff_dst_desc());
  program.step(o.y_step);
  program.output(DNNL_ARG_DIFF_SRC, 0, o.x, desc.diff_src_desc());
  program.step(o.x_step);
  return std::make_unique<ProgramKernel>(std::move(program));
}

std::unique_ptr<Kernel> weight_grad(const Operands& o, const Settings& s, std::string& why_not) {
  auto hint = forward_desc(o.x, o.w, Md(), o.y, s);
  if (!hint) {
    why_not = "oneDNN does not serve this";
    return nullptr;
  }
  dnnl::convolution_backward_weights::primitive_desc desc(
      engine(), dnnl::algorithm::convolution_direct, any_layout(o.x), any_layout(o.w), any_layout(o.y), s.stride,
      s.dilation, s.pad_left, s.pad_right, hint, user_scratchpad(), true);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  Program program(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc());
  program.input(DNNL_ARG_DIFF_DST, 0, o.y, desc.diff_dst_desc());
  program.input(DNNL_ARG_SRC, 1, o.x, desc.src_desc());
  program.output(DNNL_ARG_DIFF_WEIGHTS, 0, o.w, desc.diff_weights_desc());
  return std::make_unique<ProgramKernel>(std::move(program));
}

/// Where the own SIMD kernels measure faster (benchmarks/RESULTS.md): planes with few input channels.
bool better_elsewhere(const ConvRequest& r, std::string& why_not) {
  const ConvGeometry& g = r.geometry;
  bool depthwise = g.group_in() == 1 && g.ndim <= 2 && g.stride[2] <= 2 && g.dilation[2] == 1;
  if (r.pass == ConvPass::Forward && depthwise) {
    why_not = "the own depthwise kernel is faster";
    return true;
  }
  if (r.pass == ConvPass::InputGrad && g.groups == 1 && g.in_channels <= 4) {
    why_not = "the own kernel is faster for so few channels";
    return true;
  }
  if (r.pass == ConvPass::WeightGrad && g.pointwise() && r.x.dtype == DType::F32) {
    why_not = "the own product is faster";
    return true;
  }
  return false;
}

std::unique_ptr<Kernel> prepare_plain(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  if (!read_convolution(request, r, why_not)) return nullptr;
  const ConvGeometry& g = r.geometry;
  if (better_elsewhere(r, why_not)) return nullptr;
  if (!plain(r.x) || !plain(r.w) || !plain(r.y)) {
    why_not = "an operand is empty or expanded";
    return nullptr;
  }
  constexpr int64_t kMost = int64_t{1} << 30;  // it computes sizes in 32 bits
  for (int a = 0; a < 3; ++a)
    if (g.padding[a] < 0 ||
        std::max({g.padding[a], g.stride[a], g.dilation[a] * g.kernel[a], g.in[a], g.out[a]}) > kMost) {
      why_not = "negative padding, or a size beyond 2^30";
      return nullptr;
    }
  match_team();
  Settings s = settings(g);
  try {
    if (g.pointwise() && g.groups == 1 && r.pass != ConvPass::WeightGrad && r.x.contiguous() && r.y.contiguous() &&
        r.w.contiguous())
      if (auto kernel = pointwise(r, why_not)) return kernel;
    Operands o = operands(r, r.pass == ConvPass::WeightGrad ? g.batch : images_per_piece(r));
    switch (r.pass) {
      case ConvPass::Forward: return forward(o, s, why_not);
      case ConvPass::InputGrad: return input_grad(o, s, why_not);
      case ConvPass::WeightGrad: return weight_grad(o, s, why_not);
    }
  } catch (const dnnl::error& error) {
    why_not = error.what();
  }
  return nullptr;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  DType dtype = request.outputs[0].dtype;
  if (data_type(dtype) == dnnl::memory::data_type::undef) {
    why_not = "serves f16, bf16 and f32";
    return nullptr;
  }
  if (!usable(why_not)) return nullptr;
  bool staged = false;
  for (const TensorSpec& input : request.inputs)
    if (input.given()) {
      if (input.dtype != dtype) {
        why_not = "inputs of different dtypes";
        return nullptr;
      }
      staged = staged || !plain(input);
    }
  if (request.inputs.size() > 2 && request.inputs[2].given())
    staged = staged || !request.inputs[2].contiguous() || request.inputs[2].numel() != request.inputs[1].shape[0];
  return staged ? prepare_staged(request, dtype, &prepare_plain, why_not) : prepare_plain(request, why_not);
}

const RegisterKernel any({"convolution", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel conv1d({"conv1d", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel conv2d({"conv2d", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel conv3d({"conv3d", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel input({"convolution_input_grad", "onednn", DeviceType::CPU, 20, &prepare});
const RegisterKernel weight({"convolution_weight_grad", "onednn", DeviceType::CPU, 20, &prepare});

}  // namespace
}  // namespace hw::onednn
