// interpolate: resizes the spatial axes.
#include <cmath>

#include "base/error.h"
#include "op/math.h"

namespace hw {
namespace {

/// One value per spatial axis.
template <class T, class List>
std::vector<T> per_axis(const List& given, size_t ndim, const char* what) {
  check_runtime(given.size() == 1 || given.size() == ndim, what, " needs one value or one for each of ", ndim,
                " spatial axes");
  std::vector<T> out;
  for (size_t a = 0; a < ndim; ++a) out.push_back(given[given.size() == 1 ? 0 : a]);
  return out;
}

void check_mode(const std::string& mode, size_t ndim, const AttrValue& align_corners) {
  const bool plain = mode == "nearest" || mode == "nearest-exact" || mode == "area";
  const size_t wants = mode == "linear" ? 1 : mode == "bilinear" || mode == "bicubic" ? 2 : mode == "trilinear" ? 3 : 0;
  check_runtime(
      plain || wants > 0,
      "mode must be 'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear' or 'area', got '", mode,
      "'");
  check_runtime(plain || wants == ndim, "mode '", mode, "' resizes ", wants, " spatial axes, the input has ", ndim);
  check_runtime(!plain || align_corners.none(), "align_corners has no meaning with mode '", mode, "'");
}

Tensors body(std::span<const Tensor> in, const Attrs& attrs) {
  static const Op resize{"_interpolate"}, area{"adaptive_avg_pool"};
  const Tensor& x = in[0];
  check_runtime(x.ndim() >= 3 && x.ndim() <= 5, "input must be [batch, channels, 1 to 3 spatial axes], got ",
                x.shape());
  size_t ndim = x.shape().size() - 2;
  const AttrValue &size_attr = attrs[0], &factor_attr = attrs[1];
  const std::string& mode = attrs[2].text();
  check_mode(mode, ndim, attrs[3]);
  check_runtime(size_attr.none() != factor_attr.none(), "give either size or scale_factor");
  const bool antialias = attrs[5].truth();
  check(!antialias || mode == "bilinear" || mode == "bicubic", "antialias needs mode 'bilinear' or 'bicubic', got '",
        mode, "'");
  Dims size;
  std::vector<double> scales(ndim, 0.0);
  if (!size_attr.none()) {
    check_runtime(!attrs[4].truth(), "recompute_scale_factor needs scale_factor, not size");
    for (int64_t v : per_axis<int64_t>(size_attr.ints(), ndim, "size")) size.push_back(v);
  } else {
    scales = per_axis<double>(factor_attr.floats(), ndim, "scale_factor");
    for (size_t a = 0; a < ndim; ++a) {
      check_runtime(scales[a] > 0, "scale_factor must be positive, got ", scales[a]);
      double grown = std::floor(static_cast<double>(x.shape()[a + 2]) * scales[a]);
      check_runtime(grown < 1e15, "the output would have ", grown, " points along an axis");
      size.push_back(static_cast<int64_t>(grown));
    }
    if (attrs[4].truth()) scales.assign(ndim, 0.0);
  }
  if (mode == "area") return {area({x}, {size})};
  std::string how = mode.ends_with("linear") ? "linear" : mode;
  if (antialias) how += "-antialias";
  return {resize({x}, {size, how, attrs[3].truth(), scales})};
}

const RegisterOp op =
    OpDef("interpolate")
        .doc("Resizes the spatial axes to `size`, or by `scale_factor`. Source positions are those of torch.")
        .example(">>> hw.interpolate(hw.tensor([[[1., 2.]]]), scale_factor=2.0)\ntensor([[[1., 1., 2., 2.]]])")
        .in("input", "[batch, channels, 1 to 3 spatial axes]", floating)
        .attr_none("size", AttrValue::Kind::Ints, "new sizes")
        .attr_none("scale_factor", AttrValue::Kind::Floats, "factors, one or one for each axis")
        .attr("mode", "nearest", "'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear' or 'area'")
        .attr_none("align_corners", AttrValue::Kind::Bool, "whether the outermost points stay in place")
        .attr_none("recompute_scale_factor", AttrValue::Kind::Bool, "whether positions follow from the rounded sizes")
        .attr("antialias", false, "whether a coarser output averages over the points it covers")
        .out("y")
        .method(false)
        .composite(body);

}  // namespace
}  // namespace hw
