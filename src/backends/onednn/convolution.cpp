// Convolution and its two gradients through oneDNN, which chooses the layouts; ours are reordered to them and back.
#include "backends/onednn/engine.h"
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
    s.pad_right.push_back((g.out[a] - 1) * g.stride[a] + g.dilation[a] * (g.kernel[a] - 1) + 1 - g.in[a] - g.padding[a]);
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

dnnl::convolution_forward::primitive_desc forward_desc(const Md& x, const Md& w, const Md& bias, const Md& y, const Settings& s) {
  return {engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any_layout(x), any_layout(w), bias,
          any_layout(y), s.stride, s.dilation, s.pad_left, s.pad_right, user_scratchpad(), true};
}

struct Operands {
  Md x, w, y, bias;
};

std::unique_ptr<Kernel> forward(const Operands& o, const Settings& s, std::string& why_not) {
  auto desc = forward_desc(o.x, o.w, o.bias, o.y, s);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  Program program(dnnl::convolution_forward(desc), desc.scratchpad_desc());
  program.input(DNNL_ARG_SRC, 0, o.x, desc.src_desc());
  program.input(DNNL_ARG_WEIGHTS, 1, o.w, desc.weights_desc());
  if (o.bias.get_size() > 0) program.input(DNNL_ARG_BIAS, 2, o.bias, desc.bias_desc());
  program.output(DNNL_ARG_DST, 0, o.y, desc.dst_desc());
  return std::make_unique<ProgramKernel>(std::move(program));
}

std::unique_ptr<Kernel> input_grad(const Operands& o, const Settings& s, std::string& why_not) {
  auto hint = forward_desc(o.x, o.w, Md(), o.y, s);
  if (!hint) {
    why_not = "oneDNN does not serve this";
    return nullptr;
  }
  dnnl::convolution_backward_data::primitive_desc desc(engine(), dnnl::algorithm::convolution_direct, any_layout(o.x),
                                                       any_layout(o.w), any_layout(o.y), s.stride, s.dilation, s.pad_left,
                                                       s.pad_right, hint, user_scratchpad(), true);
  if (!desc || reference(desc.impl_info_str())) {
    why_not = "oneDNN has only its reference for this";
    return nullptr;
  }
  Program program(dnnl::convolution_backward_data(desc), desc.scratchpad_desc());
  program.input(DNNL_ARG_DIFF_DST, 0, o.y, desc.diff_dst_desc());
  program.input(DNNL_ARG_WEIGHTS, 1, o.w, desc.weights_desc());
  program.output(DNNL_ARG_DIFF_SRC, 0, o.x, desc.diff_src_desc());
  return std::make_unique<ProgramKernel>(std::move(program));
}

std::unique_ptr<Kernel> weight_grad(const Operands& o, const Settings& s, std::string& why_not) {
  auto hint = forward_desc(o.x, o.w, Md(), o.y, s);
  if (!hint) {
    why_not = "oneDNN does not serve this";
    return nullptr;
  }
  dnnl::convolution_backward_weights::primitive_desc desc(engine(), dnnl::algorithm::convolution_direct, any_layout(o.x),
                                                          any_layout(o.w), any_layout(o.y), s.stride, s.dilation, s.pad_left,
                                                          s.pad_right, hint, user_scratchpad(), true);
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

std::unique_ptr<Kernel> prepare_plain(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  if (!read_convolution(request, r, why_not)) return nullptr;
  const ConvGeometry& g = r.geometry;
  if (!plain(r.x) || !plain(r.w) || !plain(r.y)) {
    why_not = "an operand is empty or expanded";
    return nullptr;
  }
  for (int a = 0; a < 3; ++a)
    if (g.padding[a] < 0) {
      why_not = "negative padding";
      return nullptr;
    }
  match_team();
  Settings s = settings(g);
  Operands o{describe(r.x), describe_weights(g, r.w), describe(r.y), Md()};
  if (r.has_bias) o.bias = Md({g.out_channels}, data_type(r.x.dtype), MemoryDims{1});
  try {
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
