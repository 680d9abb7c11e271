// LU factorisation with partial pivoting: systems of linear equations and determinants of batches of matrices.
#include <algorithm>
#include <cmath>

#include "base/thread_team.h"
#include "kernels/staged.h"

namespace hw {
namespace {

/// Factors the row-major matrix a in place; row k was swapped with row pivots[k]. The sign of the permutation, or 0 where column
/// `at` has no pivot.
template <class T>
int factor(T* a, int64_t n, int64_t* pivots, int64_t& at) {
  int sign = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    pivots[k] = best;
    if (a[best * n + k] == 0) return at = k, 0;
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      sign = -sign;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const T f = a[i * n + k] /= a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
    }
  }
  return sign;
}

/// Replaces the rows of b, each of `width` elements, by the solution.
template <class T>
void substitute(const T* lu, const int64_t* pivots, int64_t n, T* b, int64_t width) {
  for (int64_t k = 0; k < n; ++k)
    if (pivots[k] != k) std::swap_ranges(b + k * width, b + (k + 1) * width, b + pivots[k] * width);
  auto subtract = [&](int64_t to, int64_t from) {
    const T f = lu[to * n + from];
    for (int64_t c = 0; c < width; ++c) b[to * width + c] -= f * b[from * width + c];
  };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < i; ++k) subtract(i, k);
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k) subtract(i, k);
    for (int64_t c = 0; c < width; ++c) b[i * width + c] /= lu[i * n + i];
  }
}

/// Solves a y = b for each matrix of the batch; without b the output is the determinant.
template <class T>
class Lu final : public Kernel {
 public:
  Lu(int64_t batch, int64_t n, int64_t width, bool determinant)
      : batch_(batch), n_(n), width_(width), determinant_(determinant) {
    const int64_t work = n * n * (n / 3 + width) + 1;
    slots_ = std::max<int64_t>(1, std::min<int64_t>({batch, num_threads(), batch * work / 16384 + 1}));
  }
  size_t scratch_bytes() const override { return static_cast<size_t>(slots_) * slot_bytes(); }
  void run(const KernelArgs& args) const override {
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t i = batch_ * slot / slots_; i < batch_ * (slot + 1) / slots_; ++i) one(args, slot, i);
    });
  }

 private:
  size_t slot_bytes() const {
    return static_cast<size_t>(n_) * sizeof(int64_t) + static_cast<size_t>((n_ * n_ + 7) / 8 * 8) * sizeof(T);
  }
  void one(const KernelArgs& args, int64_t slot, int64_t i) const {
    auto* pivots =
        reinterpret_cast<int64_t*>(static_cast<char*>(args.scratch) + static_cast<size_t>(slot) * slot_bytes());
    T* a = reinterpret_cast<T*>(pivots + n_);
    std::copy_n(static_cast<const T*>(args.inputs[0]) + i * n_ * n_, n_ * n_, a);
    int64_t at = 0;
    const int sign = factor(a, n_, pivots, at);
    if (determinant_) {
      double product = sign;
      for (int64_t k = 0; k < n_ && sign != 0; ++k) product *= static_cast<double>(a[k * n_ + k]);
      static_cast<T*>(args.outputs[0])[i] = static_cast<T>(product);
      return;
    }
    T* y = static_cast<T*>(args.outputs[0]) + i * n_ * width_;
    std::copy_n(static_cast<const T*>(args.inputs[1]) + i * n_ * width_, n_ * width_, y);
    if (sign == 0)
      args.status->report("RuntimeError: matrix %ld is singular: it has no pivot in column %ld", static_cast<long>(i),
                          static_cast<long>(at));
    else
      substitute(a, pivots, n_, y, width_);
  }

  int64_t batch_, n_, width_, slots_;
  bool determinant_;
};

std::unique_ptr<Kernel> prepare_contiguous(const KernelRequest& request, std::string&) {
  const Dims& a = request.inputs[0].shape;
  const bool determinant = request.op == "linalg_det";
  const int64_t n = a.back(), width = determinant ? 0 : request.inputs[1].shape.back();
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < a.size(); ++i) batch *= a[i];
  if (request.inputs[0].dtype == DType::F64) return std::make_unique<Lu<double>>(batch, n, width, determinant);
  return std::make_unique<Lu<float>>(batch, n, width, determinant);
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  const DType dtype = request.inputs[0].dtype;
  return prepare_staged(request, is_reduced(dtype) ? DType::F32 : dtype, &prepare_contiguous, why_not);
}

const RegisterKernel solve({"_solve", "reference", DeviceType::CPU, kReferencePriority, &prepare});
const RegisterKernel det({"linalg_det", "reference", DeviceType::CPU, kReferencePriority, &prepare});

}  // namespace
}  // namespace hw
