// Walking rows with generated code, which works on whole vectors only: the end of a row is the last whole vector once more, or passes
// through buffers where that would read what was overwritten.
#include "codegen/rows_kernel.h"

#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hw {

namespace {

constexpr size_t kMostOperands = 32;
constexpr size_t kVectorBytes = 32 * 8;  // of the longest vector: 32 lanes of 8 bytes

class CodeKernel final : public Kernel {
 public:
  CodeKernel(RowsShape shape, RowsFunction code, RowsFunction streaming)
      : shape_(std::move(shape)), code_(code), streaming_(streaming), operands_(shape_.sizes.size()) {
    const Nest& nest = shape_.nest;
    length_ = nest.sizes[0];
    rows_ = nest.axes() > 1 ? nest.sizes[1] : 1;
    whole_ = length_ / shape_.lanes * shape_.lanes;
    for (size_t o = 0; o < operands_; ++o)
      steps_[o] = nest.axes() > 1 ? nest.stride(static_cast<int64_t>(o), 1) * shape_.sizes[o] : 0;
  }

  void run(const KernelArgs& args) const override;

 private:
  void block(char* const* at, RowsFunction code, bool overwrites) const;
  void buffered(char* const* at, int64_t from) const;
  bool overwrites(char* const* at) const;
  bool on_vectors(char* const* at) const;

  RowsShape shape_;
  RowsFunction code_, streaming_;
  size_t operands_;
  int64_t length_, rows_, whole_;
  int64_t steps_[kMostOperands];
};

/// Whether an output lies where an input is.
bool CodeKernel::overwrites(char* const* at) const {
  for (size_t o = shape_.num_inputs; o < operands_; ++o)
    for (size_t i = 0; i < shape_.num_inputs; ++i)
      if (at[i] == at[o]) return true;
  return false;
}

bool CodeKernel::on_vectors(char* const* at) const {
  for (size_t o = shape_.num_inputs; o < operands_; ++o) {
    const int64_t bytes = shape_.sizes[o] * shape_.lanes;
    if (reinterpret_cast<intptr_t>(at[o]) % bytes != 0 || (rows_ > 1 && steps_[o] % bytes != 0)) return false;
  }
  return true;
}

/// Elements from `from` on of every row, less than a vector, by way of buffers.
void CodeKernel::buffered(char* const* at, int64_t from) const {
  alignas(64) char buffers[kMostOperands][kVectorBytes] = {};
  char* moved[kMostOperands];
  int64_t none[kMostOperands] = {};
  const int64_t n = length_ - from;
  for (int64_t r = 0; r < rows_; ++r) {
    for (size_t o = 0; o < operands_; ++o) {
      moved[o] = buffers[o];
      const int64_t size = shape_.sizes[o];
      const char* source = at[o] + r * steps_[o] + (shape_.varies[o] ? from * size : 0);
      if (o < shape_.num_inputs) std::memcpy(moved[o], source, static_cast<size_t>(shape_.varies[o] ? n * size : size));
    }
    code_(moved, none, 1, shape_.lanes);
    for (size_t o = shape_.num_inputs; o < operands_; ++o)
      std::memcpy(at[o] + r * steps_[o] + from * shape_.sizes[o], moved[o], static_cast<size_t>(n * shape_.sizes[o]));
  }
}

/// All rows of one position of the outer axes.
void CodeKernel::block(char* const* at, RowsFunction code, bool overwrites) const {
  if (whole_ > 0) code(at, steps_, rows_, whole_);
  if (whole_ == length_) return;
  if (overwrites || length_ < shape_.lanes) return buffered(at, whole_);
  char* moved[kMostOperands];
  for (size_t o = 0; o < operands_; ++o)
    moved[o] = at[o] + (shape_.varies[o] ? (length_ - shape_.lanes) * shape_.sizes[o] : 0);
  code_(moved, steps_, rows_, shape_.lanes);
}

void CodeKernel::run(const KernelArgs& args) const {
  const Nest& nest = shape_.nest;
  if (nest.count == 0) return;
  char* at[kMostOperands];
  for (size_t o = 0; o < operands_; ++o)
    at[o] = o < shape_.num_inputs ? static_cast<char*>(const_cast<void*>(args.inputs[o]))
                                  : static_cast<char*>(args.outputs[o - shape_.num_inputs]);
  const bool over = overwrites(at);
  int64_t index[kMaxDims] = {};
  bool streamed = false;
  for (;;) {
    const bool stream = streaming_ && on_vectors(at);
    streamed = streamed || stream;
    block(at, stream ? streaming_ : code_, over);
    int64_t a = 2;
    for (; a < nest.axes(); ++a) {
      const bool wraps = ++index[a] == nest.sizes[static_cast<size_t>(a)];
      const int64_t by = wraps ? 1 - nest.sizes[static_cast<size_t>(a)] : 1;
      for (size_t o = 0; o < operands_; ++o) at[o] += by * nest.stride(static_cast<int64_t>(o), a) * shape_.sizes[o];
      if (!wraps) break;
      index[a] = 0;
    }
    if (a >= nest.axes()) break;
  }
#if defined(__x86_64__)
  if (streamed) _mm_sfence();  // before another thread reads
#endif
}

}  // namespace

std::unique_ptr<Kernel> make_code_kernel(RowsShape shape, RowsFunction code, RowsFunction streaming) {
  return std::make_unique<CodeKernel>(std::move(shape), code, streaming);
}

}  // namespace hw
