// The driver by tiles: for inputs that are contiguous along another axis than the output, as in a + b.T.
#include "base/thread_team.h"
#include "kernels/elementwise/operand.h"
#include "kernels/loops/transpose.h"

namespace hw {

namespace {

constexpr int64_t kTileRows = 16, kTileColumns = 256;

bool turned(const Nest& nest, int o, int64_t axis) {
  return nest.stride(o, axis) == 1 && nest.stride(o, 0) != 1 && nest.stride(o, 0) != 0;
}

/// Rows run along the innermost axis, tiles have several of them along `axis`; turned inputs are transposed tile by tile.
class TilesKernel final : public Kernel {
 public:
  TilesKernel(const ElementwisePlan& plan, Nest nest, int64_t axis)
      : plan_(plan),
        nest_(std::move(nest)),
        axis_(axis),
        columns_(nest_.sizes[0]),
        rows_(nest_.sizes[static_cast<size_t>(axis)]) {
    for (int o = 0; o <= plan.entry->arity; ++o) {
      operands_[o] = make_operand(plan, nest_, o);
      turned_[o] = o > 0 && turned(nest_, o, axis);
      if (turned_[o]) transpose_[o] = find_transpose(operands_[o].size);
    }
    // What is left when both axes are taken out: one position per matrix.
    outer_.count = nest_.count / (columns_ * rows_);
    for (int64_t a = 1; a < nest_.axes(); ++a)
      if (a != axis) outer_.sizes.push_back(nest_.sizes[static_cast<size_t>(a)]);
    if (outer_.sizes.empty()) outer_.sizes.push_back(1);
    outer_.strides.resize(outer_.sizes.size() * static_cast<size_t>(plan.entry->arity + 1), 0);
    for (int o = 0; o <= plan.entry->arity; ++o)
      for (int64_t a = 1, next = 0; a < nest_.axes(); ++a)
        if (a != axis) outer_.strides[static_cast<size_t>(o * outer_.axes() + next++)] = nest_.stride(o, a);
  }

  void run(const KernelArgs& args) const override {
    const int64_t bands = (rows_ + kTileRows - 1) / kTileRows;
    const int64_t grain = std::max<int64_t>(1, piece_size(plan_) / (kTileRows * columns_));
    parallel_for(outer_.count * bands, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_band(args, i / bands, i % bands * kTileRows);
    });
  }

 private:
  struct Tiles {
    alignas(64) std::byte buffer[kMaxInputs + 1][kTileRows * kTileColumns * 16];
  };

  void run_band(const KernelArgs& args, int64_t matrix, int64_t first) const {
    Tiles tiles;
    Stage stage;
    const NestWalk walk(outer_, plan_.entry->arity + 1, matrix);
    const int64_t rows = std::min(kTileRows, rows_ - first);
    for (int64_t column = 0; column < columns_; column += kTileColumns) {
      const int64_t columns = std::min(kTileColumns, columns_ - column);
      for (int o = 1; o <= plan_.entry->arity; ++o)
        if (turned_[o])
          transpose_[o](at(args.inputs[o - 1], walk, o, first, column), nest_.stride(o, 0), tiles.buffer[o], columns,
                        columns, rows);
      for (int64_t r = 0; r < rows; ++r) run_row(args, walk, first, r, column, columns, tiles, stage);
    }
  }

  const char* at(const void* base, const NestWalk& walk, int o, int64_t row, int64_t column) const {
    return static_cast<const char*>(base) +
           (walk.offset(o) + row * nest_.stride(o, axis_) + column * nest_.stride(o, 0)) * operands_[o].size;
  }

  void run_row(const KernelArgs& args, const NestWalk& walk, int64_t first, int64_t r, int64_t column, int64_t n,
               const Tiles& tiles, Stage& stage) const {
    const void* in[kMaxInputs];
    for (int o = 1; o <= plan_.entry->arity; ++o) {
      const Operand& p = operands_[o];
      const void* source = turned_[o] ? static_cast<const void*>(tiles.buffer[o] + r * n * p.size)
                                      : at(args.inputs[o - 1], walk, o, first + r, column);
      const int64_t stride = turned_[o] ? 1 : p.inner_stride;
      if (!(p.same_dtype && stride == 1)) {
        p.convert(source, stride, stage.buffer[o], 1, n);
        source = stage.buffer[o];
      }
      in[o - 1] = source;
    }
    if (plan_.checks_divisor) report_zero_divisor(plan_.entry->compute, in[1], n, args.status);
    const Operand& out = operands_[0];
    char* target = const_cast<char*>(at(args.outputs[0], walk, 0, first + r, column));
    if (out.in_place()) return plan_.entry->loop(in, target, n, plan_.params.data());
    plan_.entry->loop(in, stage.buffer[0], n, plan_.params.data());
    out.convert(stage.buffer[0], 1, target, out.inner_stride, n);
  }

  ElementwisePlan plan_;
  Nest nest_, outer_;
  int64_t axis_, columns_, rows_;
  Operand operands_[kMaxInputs + 1];
  bool turned_[kMaxInputs + 1] = {};
  TransposeFn transpose_[kMaxInputs + 1] = {};
};

}  // namespace

int64_t tiled_axis(const ElementwisePlan& plan, const Nest& nest) {
  if (nest.sizes[0] < 16 || nest.count < 2048) return 0;
  for (int64_t a = 1; a < nest.axes(); ++a)
    for (int o = 1; o <= plan.entry->arity; ++o)
      if (nest.sizes[static_cast<size_t>(a)] >= 8 && turned(nest, o, a)) return a;
  return 0;
}

std::unique_ptr<Kernel> make_tiles_kernel(const ElementwisePlan& plan, Nest nest, int64_t axis) {
  return std::make_unique<TilesKernel>(plan, std::move(nest), axis);
}

}  // namespace hw
