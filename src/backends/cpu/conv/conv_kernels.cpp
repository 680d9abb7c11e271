// Convolution and its gradients as matrix products over im2col, in own SIMD code; depthwise straight from the image.
#include <algorithm>
#include <cstring>

#include "backends/cpu/conv/depthwise.h"
#include "backends/cpu/conv/im2col.h"
#include "backends/cpu/gemm/gemm.h"
#include "base/thread_team.h"
#include "core/half.h"
#include "kernels/staged.h"

namespace hw {
namespace {

constexpr int64_t kColumnBytes = 768 * 1024;  // about what L2 holds beside the packed weights

size_t round64(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Output points (or channels) per piece so that a piece's columns fit, and every thread gets a piece.
int64_t piece_size(int64_t total, int64_t bytes_each, int64_t units, int64_t multiple) {
  int64_t fit = std::max<int64_t>(multiple, kColumnBytes / std::max<int64_t>(1, bytes_each) / multiple * multiple);
  int64_t pieces = std::max<int64_t>(1, (total + fit - 1) / fit);
  while (units > 0 && units * pieces < num_threads() && pieces * multiple < total) ++pieces;
  int64_t size = (total + pieces - 1) / pieces;
  return std::max<int64_t>(1, std::min(total, (size + multiple - 1) / multiple * multiple));
}

/// Runs `units` pieces of work on `slots` threads, each with its own scratch.
template <class F>
void run_units(int64_t units, int64_t slots, F&& body) {
  parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      for (int64_t unit = units * slot / slots; unit < units * (slot + 1) / slots; ++unit) body(slot, unit);
  });
}

int64_t slots_for(const ConvGeometry& g, int64_t units) {
  int64_t team = std::clamp<int64_t>(g.flops() / (256 * 1024), 1, num_threads());
  return std::max<int64_t>(1, std::min(team, units));
}

template <class T>
class ConvForward final : public Kernel {
 public:
  ConvForward(const ConvRequest& r, GemmRoutines gemm) : g_(r.geometry), has_bias_(r.has_bias), gemm_(gemm) {
    rows_ = g_.group_in() * g_.kernel_size();
    direct_ = g_.pointwise();
    piece_ =
        piece_size(g_.out_size(), direct_ ? 0 : rows_ * static_cast<int64_t>(sizeof(T)), g_.batch * g_.groups, gemm.nr);
    pieces_ = g_.out_size() ? (g_.out_size() + piece_ - 1) / piece_ : 0;
    slots_ = slots_for(g_, g_.batch * g_.groups * pieces_);
    column_bytes_ = direct_ ? 0 : round64(static_cast<size_t>(rows_ * piece_) * sizeof(T));
    slot_bytes_ = column_bytes_ + round64(gemm_.scratch(g_.group_out(), piece_, rows_));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes_; }
  void run(const KernelArgs& args) const override {
    run_units(g_.batch * g_.groups * pieces_, slots_, [&](int64_t slot, int64_t unit) {
      run_piece(args, unit, static_cast<char*>(args.scratch) + static_cast<size_t>(slot) * slot_bytes_);
    });
  }

 private:
  void run_piece(const KernelArgs& args, int64_t unit, char* scratch) const {
    int64_t plane = unit / pieces_, group = plane % g_.groups, begin = unit % pieces_ * piece_;
    int64_t end = std::min(begin + piece_, g_.out_size());
    const T* x = static_cast<const T*>(args.inputs[0]) + plane * g_.group_in() * g_.in_size();
    GemmBlock block;
    block.m = g_.group_out(), block.n = end - begin, block.k = rows_;
    block.a = static_cast<const T*>(args.inputs[1]) + group * g_.group_out() * rows_;
    block.a_row = rows_, block.a_col = 1;
    block.b = x + begin, block.b_row = g_.out_size(), block.b_col = 1;
    if (!direct_) {
      im2col(g_, x, g_.group_in(), begin, end, reinterpret_cast<T*>(scratch));
      block.b = scratch, block.b_row = end - begin;
    }
    block.c = static_cast<T*>(args.outputs[0]) + plane * g_.group_out() * g_.out_size() + begin;
    block.c_row = g_.out_size();
    block.input = has_bias_ ? static_cast<const T*>(args.inputs[2]) + group * g_.group_out() : nullptr;
    block.input_row = 1, block.input_col = 0;
    block.scratch = scratch + column_bytes_;
    gemm_.block(block);
  }

  ConvGeometry g_;
  bool has_bias_, direct_;
  GemmRoutines gemm_;
  int64_t rows_, piece_, pieces_, slots_;
  size_t column_bytes_, slot_bytes_;
};

/// dcol = w^T dy for a few input channels at a time, then back to the image.
template <class T>
class ConvInputGrad final : public Kernel {
 public:
  ConvInputGrad(const ConvRequest& r, GemmRoutines gemm) : g_(r.geometry), gemm_(gemm) {
    direct_ = g_.pointwise();
    int64_t bytes_each = direct_ ? 0 : g_.kernel_size() * g_.out_size() * static_cast<int64_t>(sizeof(T));
    channels_ = piece_size(g_.group_in(), bytes_each, g_.batch * g_.groups, 1);
    pieces_ = g_.group_in() ? (g_.group_in() + channels_ - 1) / channels_ : 0;
    slots_ = slots_for(g_, g_.batch * g_.groups * pieces_);
    int64_t rows = channels_ * g_.kernel_size();
    column_bytes_ = direct_ ? 0 : round64(static_cast<size_t>(rows * g_.out_size()) * sizeof(T));
    slot_bytes_ = column_bytes_ + round64(gemm_.scratch(rows, g_.out_size(), g_.group_out()));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes_; }
  void run(const KernelArgs& args) const override {
    run_units(g_.batch * g_.groups * pieces_, slots_, [&](int64_t slot, int64_t unit) {
      run_piece(args, unit, static_cast<char*>(args.scratch) + static_cast<size_t>(slot) * slot_bytes_);
    });
  }

 private:
  void run_piece(const KernelArgs& args, int64_t unit, char* scratch) const {
    int64_t plane = unit / pieces_, group = plane % g_.groups, first = unit % pieces_ * channels_;
    int64_t channels = std::min(channels_, g_.group_in() - first), row = g_.group_in() * g_.kernel_size();
    T* dx = static_cast<T*>(args.outputs[0]) + (plane * g_.group_in() + first) * g_.in_size();
    GemmBlock block;
    block.m = channels * g_.kernel_size(), block.n = g_.out_size(), block.k = g_.group_out();
    block.a = static_cast<const T*>(args.inputs[1]) + group * g_.group_out() * row + first * g_.kernel_size();
    block.a_row = 1, block.a_col = row;
    block.b = static_cast<const T*>(args.inputs[0]) + plane * g_.group_out() * g_.out_size();
    block.b_row = g_.out_size(), block.b_col = 1;
    block.c = direct_ ? static_cast<void*>(dx) : scratch;
    block.c_row = g_.out_size();
    block.input = nullptr;
    block.scratch = scratch + column_bytes_;
    if (block.n > 0) gemm_.block(block);
    if (direct_) return;
    std::fill_n(dx, channels * g_.in_size(), T(0));
    col2im(g_, reinterpret_cast<const T*>(scratch), channels, dx);
  }

  ConvGeometry g_;
  bool direct_;
  GemmRoutines gemm_;
  int64_t channels_, pieces_, slots_;
  size_t column_bytes_, slot_bytes_;
};

/// dw = dy col^T: each thread sums its share of images into its own copy, and the copies are added in order.
template <class T>
class ConvWeightGrad final : public Kernel {
 public:
  ConvWeightGrad(const ConvRequest& r, GemmRoutines gemm) : g_(r.geometry), gemm_(gemm) {
    rows_ = g_.group_in() * g_.kernel_size();
    direct_ = g_.pointwise();
    piece_ = piece_size(g_.out_size(), direct_ ? 0 : rows_ * static_cast<int64_t>(sizeof(T)), g_.batch, gemm.nr);
    pieces_ = g_.out_size() ? (g_.out_size() + piece_ - 1) / piece_ : 0;
    slots_ = slots_for(g_, g_.batch * pieces_);
    weight_ = g_.out_channels * rows_;
    column_bytes_ = direct_ ? 0 : round64(static_cast<size_t>(rows_ * piece_) * sizeof(T));
    sum_bytes_ = slots_ > 1 ? round64(static_cast<size_t>(weight_) * sizeof(T)) : 0;
    slot_bytes_ = sum_bytes_ + column_bytes_ + round64(gemm_.scratch(g_.group_out(), rows_, piece_));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes_; }
  void run(const KernelArgs& args) const override {
    auto* base = static_cast<char*>(args.scratch);
    auto sums = [&](int64_t slot) {
      return slots_ > 1 ? reinterpret_cast<T*>(base + static_cast<size_t>(slot) * slot_bytes_)
                        : static_cast<T*>(args.outputs[0]);
    };
    int64_t units = g_.batch * pieces_;
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        std::fill_n(sums(slot), weight_, T(0));
        char* scratch = base + static_cast<size_t>(slot) * slot_bytes_ + sum_bytes_;
        for (int64_t unit = units * slot / slots_; unit < units * (slot + 1) / slots_; ++unit)
          for (int64_t group = 0; group < g_.groups; ++group) add_piece(args, unit, group, sums(slot), scratch);
      }
    });
    if (slots_ == 1) return;
    auto* dw = static_cast<T*>(args.outputs[0]);
    parallel_for(weight_, 16384, [&](int64_t begin, int64_t end) {
      std::copy(sums(0) + begin, sums(0) + end, dw + begin);
      for (int64_t slot = 1; slot < slots_; ++slot) {
        const T* from = sums(slot);
        for (int64_t i = begin; i < end; ++i) dw[i] += from[i];
      }
    });
  }

 private:
  void add_piece(const KernelArgs& args, int64_t unit, int64_t group, T* dw, char* scratch) const {
    int64_t n = unit / pieces_, begin = unit % pieces_ * piece_, end = std::min(begin + piece_, g_.out_size());
    const T* x = static_cast<const T*>(args.inputs[1]) + (n * g_.in_channels + group * g_.group_in()) * g_.in_size();
    GemmBlock block;
    block.m = g_.group_out(), block.n = rows_, block.k = end - begin;
    block.a =
        static_cast<const T*>(args.inputs[0]) + (n * g_.out_channels + group * g_.group_out()) * g_.out_size() + begin;
    block.a_row = g_.out_size(), block.a_col = 1;
    block.b = x + begin, block.b_row = 1, block.b_col = g_.out_size();
    if (!direct_) {
      im2col(g_, x, g_.group_in(), begin, end, reinterpret_cast<T*>(scratch));
      block.b = scratch, block.b_col = end - begin;
    }
    block.c = dw + group * g_.group_out() * rows_, block.c_row = rows_;
    block.input = nullptr;
    block.scratch = scratch + column_bytes_;
    block.accumulate = true;
    gemm_.block(block);
  }

  ConvGeometry g_;
  bool direct_;
  GemmRoutines gemm_;
  int64_t rows_, piece_, pieces_, slots_, weight_;
  size_t column_bytes_, sum_bytes_, slot_bytes_;
};

/// 16-bit planes are widened one at a time, so that the copies stay in the cache.
template <class In>
class DepthwiseForward final : public Kernel {
 public:
  explicit DepthwiseForward(const ConvRequest& r) : g_(r.geometry), has_bias_(r.has_bias), plane_(depthwise_plane()) {
    int64_t planes = g_.batch * g_.out_channels;
    slots_ = std::max<int64_t>(1, std::min(slots_for(g_, planes), planes));
    if (!std::is_same_v<In, float>) slot_floats_ = (g_.in_size() + g_.out_size() + g_.kernel_size() + 15) / 16 * 16;
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_ * slot_floats_) * sizeof(float); }
  void run(const KernelArgs& args) const override {
    run_units(g_.batch * g_.out_channels, slots_, [&](int64_t slot, int64_t plane) {
      int64_t n = plane / g_.out_channels, o = plane % g_.out_channels;
      const In* x = static_cast<const In*>(args.inputs[0]) + (n * g_.in_channels + o / g_.group_out()) * g_.in_size();
      const In* w = static_cast<const In*>(args.inputs[1]) + o * g_.kernel_size();
      float bias = has_bias_ ? static_cast<float>(static_cast<const In*>(args.inputs[2])[o]) : 0.0f;
      In* y = static_cast<In*>(args.outputs[0]) + plane * g_.out_size();
      if constexpr (std::is_same_v<In, float>)
        plane_(g_, x, w, bias, y);
      else
        widened(x, w, bias, y, static_cast<float*>(args.scratch) + slot * slot_floats_);
    });
  }

 private:
  void widened(const In* x, const In* w, float bias, In* y, float* scratch) const {
    float *wide_x = scratch, *wide_y = wide_x + g_.in_size(), *wide_w = wide_y + g_.out_size();
    for (int64_t i = 0; i < g_.in_size(); ++i) wide_x[i] = x[i];
    for (int64_t i = 0; i < g_.kernel_size(); ++i) wide_w[i] = w[i];
    plane_(g_, wide_x, wide_w, bias, wide_y);
    for (int64_t i = 0; i < g_.out_size(); ++i) y[i] = In(wide_y[i]);
  }

  ConvGeometry g_;
  bool has_bias_;
  DepthwisePlane plane_;
  int64_t slots_ = 1, slot_floats_ = 0;
};

template <class T>
std::unique_ptr<Kernel> make(const ConvRequest& r, GemmRoutines gemm) {
  switch (r.pass) {
    case ConvPass::InputGrad: return std::make_unique<ConvInputGrad<T>>(r, gemm);
    case ConvPass::WeightGrad: return std::make_unique<ConvWeightGrad<T>>(r, gemm);
    default: break;
  }
  if constexpr (std::is_same_v<T, float>)
    if (depthwise_serves(r.geometry)) return std::make_unique<DepthwiseForward<float>>(r);
  return std::make_unique<ConvForward<T>>(r, gemm);
}

std::unique_ptr<Kernel> prepare_contiguous(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  if (!read_convolution(request, r, why_not)) return nullptr;
  if (r.has_bias && request.inputs[2].numel() != r.geometry.out_channels) {
    why_not = "the bias is broadcast";
    return nullptr;
  }
  return r.x.dtype == DType::F64 ? make<double>(r, gemm_routines(DType::F64))
                                 : make<float>(r, gemm_routines(DType::F32));
}

std::unique_ptr<Kernel> prepare_depthwise_16bit(const KernelRequest& request, std::string& why_not) {
  ConvRequest r;
  if (!is_reduced(request.outputs[0].dtype) || !read_convolution(request, r, why_not)) return nullptr;
  bool fits = r.pass == ConvPass::Forward && depthwise_serves(r.geometry) && r.y.contiguous();
  for (const TensorSpec& input : request.inputs) fits = fits && (!input.given() || input.contiguous());
  if (!fits || (r.has_bias && request.inputs[2].numel() != r.geometry.out_channels)) return nullptr;
  if (r.x.dtype == DType::F16) return std::make_unique<DepthwiseForward<Half>>(r);
  return std::make_unique<DepthwiseForward<BFloat16>>(r);
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  DType dtype = request.outputs[0].dtype;
  if (!is_floating(dtype)) {
    why_not = "serves floating dtypes";
    return nullptr;
  }
  for (const TensorSpec& input : request.inputs)
    if (input.given() && input.dtype != dtype) {
      why_not = "inputs of different dtypes";
      return nullptr;
    }
  if (auto kernel = prepare_depthwise_16bit(request, why_not)) return kernel;
  return prepare_staged(request, is_reduced(dtype) ? DType::F32 : dtype, &prepare_contiguous, why_not);
}

const RegisterKernel any({"convolution", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel conv1d({"conv1d", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel conv2d({"conv2d", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel conv3d({"conv3d", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel input({"convolution_input_grad", "simd", DeviceType::CPU, 10, &prepare});
const RegisterKernel weight({"convolution_weight_grad", "simd", DeviceType::CPU, 10, &prepare});

}  // namespace
}  // namespace hw
