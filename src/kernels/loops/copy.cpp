// The copy kernel: any layout and dtype to any other. Blocks of bytes, tiles for transposes, rows for the rest.
#include <algorithm>
#include <cstring>

#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert.h"
#include "kernels/loops/nest.h"
#include "kernels/loops/transpose.h"

namespace hw {

namespace {

constexpr int64_t kPiece = 32768;  // elements per thread

/// All that the copies share. The nest's operands: 0 is written, 1 is read.
struct CopyPlan {
  Nest nest;
  DType from, to;
  int64_t from_size, to_size;
};

/// Contiguous on both sides.
class FlatCopy final : public Kernel {
 public:
  explicit FlatCopy(CopyPlan plan)
      : plan_(std::move(plan)),
        row_(find_convert_row(plan_.from, plan_.to)),
        convert_(find_convert(plan_.from, plan_.to)) {}
  void run(const KernelArgs& args) const override {
    const void* src = args.inputs[0];
    void* dst = args.outputs[0];
    if (src == dst && plan_.from == plan_.to) return;
    if (plan_.nest.count <= kPiece) return piece(src, dst, 0, plan_.nest.count);
    parallel_for(plan_.nest.count, kPiece, [&](int64_t begin, int64_t end) { piece(src, dst, begin, end); });
  }

 private:
  void piece(const void* src, void* dst, int64_t begin, int64_t end) const {
    const char* s = static_cast<const char*>(src) + begin * plan_.from_size;
    char* d = static_cast<char*>(dst) + begin * plan_.to_size;
    if (row_)
      row_(s, d, end - begin);
    else
      convert_(s, 1, d, 1, end - begin);
  }
  CopyPlan plan_;
  ConvertRowFn row_;
  ConvertFn convert_;
};

class RowCopy final : public Kernel {
 public:
  explicit RowCopy(CopyPlan plan)
      : plan_(std::move(plan)),
        row_(find_convert_row(plan_.from, plan_.to)),
        convert_(find_convert(plan_.from, plan_.to)) {
    const bool contiguous = plan_.nest.stride(0, 0) == 1 && plan_.nest.stride(1, 0) == 1;
    if (!contiguous) row_ = nullptr;
    bytes_ = contiguous && plan_.from == plan_.to && plan_.nest.axes() > 1;
  }
  void run(const KernelArgs& args) const override {
    parallel_for(plan_.nest.count, kPiece / 2, [&](int64_t begin, int64_t end) { range(args, begin, end); });
  }

 private:
  void range(const KernelArgs& args, int64_t begin, int64_t end) const {
    const char* source = static_cast<const char*>(args.inputs[0]);
    char* target = static_cast<char*>(args.outputs[0]);
    const int64_t to_stride = plan_.nest.stride(0, 0), from_stride = plan_.nest.stride(1, 0), row = plan_.nest.sizes[0];
    NestWalk walk(plan_.nest, 2, begin);
    for (int64_t at = begin; at < end;) {
      const char* s = source + walk.offset(1) * plan_.from_size;
      char* d = target + walk.offset(0) * plan_.to_size;
      const int64_t whole = (end - at) / row;
      if (bytes_ && whole > 0 && walk.left_in_row() == row) {
        const int64_t rows = std::min(whole, walk.left_in_axis(1));
        copy_rows(s, d, row * plan_.to_size, rows);
        walk.advance_rows(rows);
        at += rows * row;
        continue;
      }
      const int64_t n = std::min(end - at, walk.left_in_row());
      if (row_)
        row_(s, d, n);
      else
        convert_(s, from_stride, d, to_stride, n);
      walk.advance(n);
      at += n;
    }
  }
  void copy_rows(const char* s, char* d, int64_t bytes, int64_t rows) const {
    const int64_t to_step = plan_.nest.stride(0, 1) * plan_.to_size,
                  from_step = plan_.nest.stride(1, 1) * plan_.from_size;
    for (int64_t r = 0; r < rows; ++r, s += from_step, d += to_step) std::memcpy(d, s, static_cast<size_t>(bytes));
  }

  bool bytes_ = false;  // rows of equal dtype, contiguous on both sides, under another axis
  CopyPlan plan_;
  ConvertRowFn row_;
  ConvertFn convert_;
};

/// The innermost axis is contiguous in the output, another one (`axis_`) in the input.
class TransposeCopy final : public Kernel {
 public:
  TransposeCopy(CopyPlan plan, int64_t axis)
      : axis_(axis),
        columns_(plan.nest.sizes[0]),
        rows_(plan.nest.sizes[static_cast<size_t>(axis)]),
        to_stride_(plan.nest.stride(0, axis)),
        from_stride_(plan.nest.stride(1, 0)),
        size_(plan.to_size),
        transpose_(find_transpose(size_)) {
    // What is left when both axes are taken out: one position per matrix.
    Nest& n = plan.nest;
    const size_t axes = n.sizes.size();
    outer_.count = 1;
    for (size_t a = 1; a < axes; ++a)
      if (static_cast<int64_t>(a) != axis) outer_.sizes.push_back(n.sizes[a]);
    for (int o = 0; o < 2; ++o)
      for (size_t a = 1; a < axes; ++a)
        if (static_cast<int64_t>(a) != axis) outer_.strides.push_back(n.stride(o, static_cast<int64_t>(a)));
    for (int64_t s : outer_.sizes) outer_.count *= s;
    if (outer_.sizes.empty()) {
      outer_.sizes.push_back(1);
      outer_.strides.resize(2, 0);
    }
  }

  void run(const KernelArgs& args) const override {
    // Bands of rows of the output (each a column of the input) are the unit of work.
    const int64_t bands = (rows_ + kBand - 1) / kBand;
    const int64_t grain = std::max<int64_t>(1, kPiece / (kBand * columns_));
    parallel_for(outer_.count * bands, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) band(args, i / bands, i % bands);
    });
  }

 private:
  static constexpr int64_t kBand = 64;
  void band(const KernelArgs& args, int64_t matrix, int64_t band) const {
    const NestWalk walk(outer_, 2, matrix);
    const int64_t row = band * kBand, rows = std::min(kBand, rows_ - row);
    const char* s = static_cast<const char*>(args.inputs[0]) + (walk.offset(1) + row) * size_;
    char* d = static_cast<char*>(args.outputs[0]) + (walk.offset(0) + row * to_stride_) * size_;
    transpose_(s, from_stride_, d, to_stride_, columns_, rows);
  }
  int64_t axis_, columns_, rows_, to_stride_, from_stride_, size_;
  TransposeFn transpose_;
  Nest outer_;
};

/// The axis along which the input is contiguous, if the copy is a transpose worth tiling; else 0.
int64_t transposed_axis(const CopyPlan& plan) {
  const Nest& n = plan.nest;
  if (plan.from != plan.to || n.stride(0, 0) != 1 || n.stride(1, 0) <= 1 || n.sizes[0] < 4) return 0;
  for (int64_t a = 1; a < n.axes(); ++a)
    if (n.stride(1, a) == 1 && n.sizes[static_cast<size_t>(a)] >= 4) return a;
  return 0;
}

class Nothing final : public Kernel {
 public:
  void run(const KernelArgs&) const override {}
};

Dims strides_of(const TensorSpec& s) {
  return s.strides.size() == s.shape.size() ? s.strides : contiguous_strides(s.shape);
}

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request, std::string& why_not) {
  if (request.inputs.size() != 1 || request.outputs.size() != 1) {
    why_not = "copy takes one input and one output";
    return nullptr;
  }
  const TensorSpec &in = request.inputs[0], &out = request.outputs[0];
  const Dims operands[] = {strides_of(out), broadcast_strides(in.shape, strides_of(in), out.shape)};
  CopyPlan plan{make_nest(out.shape, operands), in.dtype, out.dtype, dtype_size(in.dtype), dtype_size(out.dtype)};
  const Nest& n = plan.nest;
  if (n.count == 0) return std::make_unique<Nothing>();
  if (n.axes() == 1 && n.stride(0, 0) == 1 && n.stride(1, 0) == 1) return std::make_unique<FlatCopy>(std::move(plan));
  if (int64_t axis = transposed_axis(plan)) return std::make_unique<TransposeCopy>(std::move(plan), axis);
  return std::make_unique<RowCopy>(std::move(plan));
}

/// copy_ has the tensor to be overwritten as its first input and reads only the second.
class SecondInput final : public Kernel {
 public:
  explicit SecondInput(std::unique_ptr<Kernel> copy) : copy_(std::move(copy)) {}
  void run(const KernelArgs& args) const override {
    copy_->run({args.inputs + 1, args.outputs, args.scratch, args.attrs, args.status});
  }

 private:
  std::unique_ptr<Kernel> copy_;
};

std::unique_ptr<Kernel> prepare_overwrite(const KernelRequest& request, std::string& why_not) {
  if (request.inputs.size() != 2) {
    why_not = "copy_ takes two inputs";
    return nullptr;
  }
  std::unique_ptr<Kernel> copy =
      prepare_copy({request.op, request.inputs.subspan(1), request.outputs, request.attrs, request.compute}, why_not);
  return copy ? std::make_unique<SecondInput>(std::move(copy)) : nullptr;
}

const RegisterKernel copy({"copy", "simd", DeviceType::CPU, 10, &prepare_copy});
const RegisterKernel cast({"cast", "simd", DeviceType::CPU, 10, &prepare_copy});
const RegisterKernel clone({"clone", "simd", DeviceType::CPU, 10, &prepare_copy});
const RegisterKernel overwrite({"copy_", "simd", DeviceType::CPU, 10, &prepare_overwrite});

}  // namespace
}  // namespace hw
