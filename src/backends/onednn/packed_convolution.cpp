// _conv2d_packed through oneDNN: our blocked images and packed weights are layouts of its own, so that nothing is reordered.
#include "backends/onednn/engine.h"
#include "kernels/conv/packed.h"

namespace hw::onednn {
namespace {

using Md = dnnl::memory::desc;
using MemoryDims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;

Tag image_tag(int64_t block) { return block == 1 ? Tag::nchw : block == 8 ? Tag::nChw8c : Tag::nChw16c; }

bool weight_tag(const PackedConvRequest& r, Tag& tag) {
  const bool eight = r.block_out == 8, grouped = r.geometry.groups > 1;
  if (r.depthwise)
    tag = eight ? Tag::Goihw8g : Tag::Goihw16g;
  else if (r.block_in == 1)
    tag = eight ? Tag::Ohwi8o : Tag::Ohwi16o;
  else if (r.block_in == r.block_out)
    tag = grouped ? (eight ? Tag::gOIhw8i8o : Tag::gOIhw16i16o) : (eight ? Tag::OIhw8i8o : Tag::OIhw16i16o);
  else
    return false;
  return true;
}

void append_activation(const PackedConvRequest& r, dnnl::post_ops& after) {
  const auto low = static_cast<float>(r.low), high = static_cast<float>(r.high);
  using A = dnnl::algorithm;
  switch (r.activation) {
    case ConvActivation::None: break;
    case ConvActivation::Relu: after.append_eltwise(A::eltwise_relu, 0, 0); break;
    case ConvActivation::Clamp: after.append_eltwise(A::eltwise_clip, low, high); break;
    case ConvActivation::Sigmoid: after.append_eltwise(A::eltwise_logistic, 0, 0); break;
    case ConvActivation::Silu: after.append_eltwise(A::eltwise_swish, 1, 0); break;
    case ConvActivation::Hardswish: after.append_eltwise(A::eltwise_hardswish, 1.0F / 6, 0.5F); break;
  }
}

dnnl::convolution_forward::primitive_desc describe_call(const PackedConvRequest& r, Tag weights, const Md& y) {
  const ConvGeometry& g = r.geometry;
  const Md x({g.batch, g.in_channels, g.in[1], g.in[2]}, kF32, image_tag(r.block_in));
  MemoryDims w_dims{g.out_channels, g.in_channels, g.kernel[1], g.kernel[2]};
  if (g.groups > 1) w_dims = {g.groups, g.group_out(), g.group_in(), g.kernel[1], g.kernel[2]};
  MemoryDims stride, dilation, left, right;
  for (int a = 1; a < 3; ++a) {
    stride.push_back(g.stride[a]);
    dilation.push_back(g.dilation[a] - 1);
    left.push_back(g.padding[a]);
    right.push_back((g.out[a] - 1) * g.stride[a] + g.dilation[a] * (g.kernel[a] - 1) + 1 - g.in[a] - g.padding[a]);
  }
  dnnl::post_ops after;
  if (r.has_residual) after.append_binary(dnnl::algorithm::binary_add, y);
  append_activation(r, after);
  dnnl::primitive_attr attr = user_scratchpad();
  attr.set_post_ops(after);
  const Md bias = r.has_bias ? Md({g.out_channels}, kF32, Tag::x) : Md();
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          x,
          Md(w_dims, kF32, weights),
          bias,
          y,
          stride,
          dilation,
          left,
          right,
          attr,
          true};
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  PackedConvRequest r;
  if (!usable(why_not) || !read_packed_conv(request, r, why_not)) return nullptr;
  const ConvGeometry& g = r.geometry;
  Tag weights = Tag::undef;
  if (request.outputs[0].numel() == 0 || request.inputs[0].numel() == 0 || !weight_tag(r, weights)) {
    why_not = "empty, or blocks of different sizes";
    return nullptr;
  }
  match_team();
  try {
    const Md y({g.batch, g.out_channels, g.out[1], g.out[2]}, kF32, image_tag(r.block_out));
    auto desc = describe_call(r, weights, y);
    if (!desc || std::string_view(desc.impl_info_str()).find("ref") != std::string_view::npos) {
      why_not = "oneDNN has only its reference for these layouts";
      return nullptr;
    }
    Program program(dnnl::convolution_forward(desc), desc.scratchpad_desc());
    auto input = [&](int argument, int index, const Md& layout) { program.input(argument, index, layout, layout); };
    input(DNNL_ARG_SRC, 0, desc.src_desc());
    input(DNNL_ARG_WEIGHTS, 1, desc.weights_desc());
    if (r.has_bias) input(DNNL_ARG_BIAS, 2, desc.bias_desc());
    if (r.has_residual) input(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, 3, desc.dst_desc());
    program.output(DNNL_ARG_DST, 0, desc.dst_desc(), desc.dst_desc());
    return std::make_unique<ProgramKernel>(std::move(program));
  } catch (const dnnl::error& error) {
    why_not = error.what();
  }
  return nullptr;
}

const RegisterKernel entry({"_conv2d_packed", "onednn", DeviceType::CPU, 20, &prepare});

}  // namespace
}  // namespace hw::onednn
