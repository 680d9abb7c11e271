// Reference convolution and its two gradients: plain loops over every index, sums in double.
#include "core/visit.h"
#include "kernels/conv/geometry.h"

namespace hw {
namespace {

/// Runs body(k0, k1, k2) over the kernel's points.
template <class F>
void each_point(const int64_t (&size)[3], F&& body) {
  for (int64_t i = 0; i < size[0]; ++i)
    for (int64_t j = 0; j < size[1]; ++j)
      for (int64_t k = 0; k < size[2]; ++k) {
        int64_t point[3] = {i, j, k};
        body(point);
      }
}

int64_t at(const Strides5& s, int64_t n, int64_t c, const int64_t (&p)[3]) {
  return n * s.s[0] + c * s.s[1] + p[0] * s.s[2] + p[1] * s.s[3] + p[2] * s.s[4];
}

/// The input point under kernel point k of output point o; false in the padding.
bool input_point(const ConvGeometry& g, const int64_t (&o)[3], const int64_t (&k)[3], int64_t (&i)[3]) {
  for (int a = 0; a < 3; ++a) {
    i[a] = o[a] * g.stride[a] + k[a] * g.dilation[a] - g.padding[a];
    if (i[a] < 0 || i[a] >= g.in[a]) return false;
  }
  return true;
}

template <class T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
void forward(const ConvRequest& r, const T* x, const T* w, const T* bias, int64_t bias_step, T* y) {
  const ConvGeometry& g = r.geometry;
  Strides5 xs = strides5(r.x), ws = strides5(r.w), ys = strides5(r.y);
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t o = 0; o < g.out_channels; ++o)
      each_point(g.out, [&](const int64_t(&out)[3]) {
        double sum = bias ? static_cast<double>(bias[o * bias_step]) : 0.0;
        int64_t first = o / g.group_out() * g.group_in();
        each_point(g.kernel, [&](const int64_t(&k)[3]) {
          int64_t in[3];
          if (!input_point(g, out, k, in)) return;
          for (int64_t c = 0; c < g.group_in(); ++c)
            sum += static_cast<double>(x[at(xs, n, first + c, in)]) * static_cast<double>(w[at(ws, o, c, k)]);
        });
        y[at(ys, n, o, out)] = narrow<T>(sum);
      });
}

template <class T>
void input_grad(const ConvRequest& r, const T* dy, const T* w, T* dx) {
  const ConvGeometry& g = r.geometry;
  Strides5 xs = strides5(r.x), ws = strides5(r.w), ys = strides5(r.y);
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t c = 0; c < g.in_channels; ++c)
      each_point(g.in, [&](const int64_t(&in)[3]) {
        double sum = 0;
        int64_t first = c / g.group_in() * g.group_out();
        each_point(g.kernel, [&](const int64_t(&k)[3]) {
          int64_t out[3];
          for (int a = 0; a < 3; ++a) {
            int64_t at_stride = in[a] + g.padding[a] - k[a] * g.dilation[a];
            if (at_stride < 0 || at_stride % g.stride[a] != 0 || at_stride / g.stride[a] >= g.out[a]) return;
            out[a] = at_stride / g.stride[a];
          }
          for (int64_t o = first; o < first + g.group_out(); ++o)
            sum += static_cast<double>(dy[at(ys, n, o, out)]) * static_cast<double>(w[at(ws, o, c % g.group_in(), k)]);
        });
        dx[at(xs, n, c, in)] = narrow<T>(sum);
      });
}

template <class T>
void weight_grad(const ConvRequest& r, const T* dy, const T* x, T* dw) {
  const ConvGeometry& g = r.geometry;
  Strides5 xs = strides5(r.x), ws = strides5(r.w), ys = strides5(r.y);
  for (int64_t o = 0; o < g.out_channels; ++o)
    for (int64_t c = 0; c < g.group_in(); ++c)
      each_point(g.kernel, [&](const int64_t(&k)[3]) {
        double sum = 0;
        int64_t channel = o / g.group_out() * g.group_in() + c;
        for (int64_t n = 0; n < g.batch; ++n)
          each_point(g.out, [&](const int64_t(&out)[3]) {
            int64_t in[3];
            if (input_point(g, out, k, in))
              sum += static_cast<double>(dy[at(ys, n, o, out)]) * static_cast<double>(x[at(xs, n, channel, in)]);
          });
        dw[at(ws, o, c, k)] = narrow<T>(sum);
      });
}

template <class T>
class ReferenceConv final : public Kernel {
 public:
  ReferenceConv(ConvRequest r, int64_t bias_step) : r_(std::move(r)), bias_step_(bias_step) {}
  void run(const KernelArgs& args) const override {
    auto in = [&](int i) { return static_cast<const T*>(args.inputs[i]); };
    auto* out = static_cast<T*>(args.outputs[0]);
    switch (r_.pass) {
      case ConvPass::Forward: return forward(r_, in(0), in(1), r_.has_bias ? in(2) : nullptr, bias_step_, out);
      case ConvPass::InputGrad: return input_grad(r_, in(0), in(1), out);
      case ConvPass::WeightGrad: return weight_grad(r_, in(0), in(1), out);
    }
  }

 private:
  ConvRequest r_;
  int64_t bias_step_;
};

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  if (!read_convolution(request, r, why_not)) return nullptr;
  if (is_complex(r.x.dtype) || r.x.dtype == DType::Bool) {
    why_not = "serves real numbers";
    return nullptr;
  }
  int64_t bias_step = r.has_bias && request.inputs[2].ndim() == 1 ? request.inputs[2].strides[0] : 0;
  return visit_dtype(r.x.dtype, [&]<class T>(Type<T>) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>)
      return nullptr;
    else
      return std::make_unique<ReferenceConv<T>>(r, bias_step);
  });
}

const RegisterKernel any({"convolution", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel conv1d({"conv1d", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel conv2d({"conv2d", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel conv3d({"conv3d", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel input({"convolution_input_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel weight({"convolution_weight_grad", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
