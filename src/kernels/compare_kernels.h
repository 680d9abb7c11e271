// For tests: every kernel of an op against the reference kernel, on random data with given specs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/text.h"
#include "core/visit.h"
#include "kernels/isa.h"
#include "kernels/kernel.h"

namespace hw::testing {

/// A contiguous spec, or one whose axes are laid out in memory in the given order (outermost first).
inline TensorSpec spec(DType dtype, Dims shape, Dims order = {}) {
  TensorSpec s;
  s.dtype = dtype;
  s.strides = contiguous_strides(shape);
  if (!order.empty()) {
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      s.strides[order[i]] = step;
      step *= std::max<int64_t>(1, shape[order[i]]);
    }
  }
  s.shape = std::move(shape);
  return s;
}

inline int64_t extent(const TensorSpec& s) {
  int64_t last = 1;
  for (size_t i = 0; i < s.shape.size(); ++i) {
    if (s.shape[i] == 0) return 0;
    last += (s.shape[i] - 1) * s.strides[i];
  }
  return last;
}

struct Buffer {
  explicit Buffer(size_t bytes) : data(static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
    std::memset(data, 0x5a, (bytes + 127) / 64 * 64);
  }
  Buffer(Buffer&& o) noexcept : data(std::exchange(o.data, nullptr)) {}
  ~Buffer() { std::free(data); }
  char* data;
};

inline Buffer random_buffer(const TensorSpec& s, unsigned seed) {
  int64_t n = extent(s);
  Buffer buffer(static_cast<size_t>(n * std::max<int64_t>(1, dtype_size(s.dtype))));
  if (!s.given()) return buffer;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> integer(-9, 9);
  visit_dtype(s.dtype, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<T>)
        reinterpret_cast<T*>(buffer.data)[i] = static_cast<T>(integer(random));
      else
        reinterpret_cast<T*>(buffer.data)[i] = T(real(random));
    }
  });
  return buffer;
}

/// Element i of a buffer as a double (the real part of a complex number).
inline double value_at(const char* data, DType dtype, int64_t i) {
  return visit_dtype(dtype, [&]<class T>(Type<T>) -> double {
    const T& v = reinterpret_cast<const T*>(data)[i];
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      return static_cast<double>(v.real());
    else
      return static_cast<double>(v);
  });
}

inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::F16: return 4e-3;
    case DType::BF16: return 3e-2;
    case DType::F32: return 2e-5;
    default: return 1e-12;
  }
}

struct Comparison {
  std::string_view op;
  std::vector<TensorSpec> inputs, outputs;
  Attrs attrs;
  std::vector<std::pair<int, Buffer>> fixed;  // inputs that are not random
};

inline void run_kernel(const Kernel& kernel, const Comparison& c, const std::vector<Buffer>& in,
                       std::vector<Buffer>& out) {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < in.size(); ++i) inputs.push_back(c.inputs[i].given() ? in[i].data : nullptr);
  for (Buffer& b : out) outputs.push_back(b.data);
  Buffer scratch(kernel.scratch_bytes());
  LaunchStatus status;
  kernel.run({inputs.data(), outputs.data(), scratch.data, &c.attrs, &status});
  EXPECT_FALSE(status.failed) << status.message;
}

inline std::string describe(const Comparison& c) {
  std::string s = text(c.op, "(");
  for (const TensorSpec& i : c.inputs) append_text(s, i), s += ' ';
  for (const AttrValue& a : c.attrs) append_text(s, a), s += ' ';
  return s + ")";
}

/// Runs every candidate that accepts, on each instruction set; returns how many runs were compared.
inline int compare_kernels(Comparison c, double factor = 1) {
  std::vector<Buffer> in;
  for (size_t i = 0; i < c.inputs.size(); ++i) in.push_back(random_buffer(c.inputs[i], static_cast<unsigned>(i) + 7));
  for (auto& [index, buffer] : c.fixed) std::swap(in[static_cast<size_t>(index)].data, buffer.data);
  auto make_outputs = [&] {
    std::vector<Buffer> out;
    for (const TensorSpec& s : c.outputs) out.emplace_back(static_cast<size_t>(extent(s) * dtype_size(s.dtype)));
    return out;
  };
  KernelRequest request{c.op, c.inputs, c.outputs, c.attrs, c.outputs[0].dtype};
  std::vector<Buffer> expected = make_outputs();
  int compared = 0;
  std::vector<KernelEntry> candidates = kernel_candidates(c.op, DeviceType::CPU);
  EXPECT_FALSE(candidates.empty()) << c.op;
  if (candidates.empty()) return 0;
  std::string why;
  std::unique_ptr<Kernel> reference = candidates.back().prepare(request, why);
  EXPECT_TRUE(reference) << describe(c) << why;
  if (!reference) return 0;
  run_kernel(*reference, c, in, expected);
  Isa found = isa_found();
  for (Isa level : {found, Isa::AVX2, Isa::Scalar}) {
    if (static_cast<int>(level) > static_cast<int>(found) || (level == found && compared > 0)) continue;
    set_isa(level);
    for (size_t i = 0; i + 1 < candidates.size(); ++i) {
      std::unique_ptr<Kernel> kernel = candidates[i].prepare(request, why);
      if (!kernel) continue;
      std::vector<Buffer> got = make_outputs();
      run_kernel(*kernel, c, in, got);
      ++compared;
      for (size_t o = 0; o < got.size(); ++o) {
        DType dtype = c.outputs[o].dtype;
        double largest = 1;
        int64_t n = extent(c.outputs[o]), bad = -1;
        for (int64_t e = 0; e < n; ++e) largest = std::max(largest, std::abs(value_at(expected[o].data, dtype, e)));
        for (int64_t e = 0; e < n && bad < 0; ++e)
          if (!(std::abs(value_at(expected[o].data, dtype, e) - value_at(got[o].data, dtype, e)) <=
                tolerance(dtype) * factor * largest))
            bad = e;
        EXPECT_LT(bad, 0) << describe(c) << " " << candidates[i].name << " on " << isa_name(level) << ": output " << o
                          << " element " << bad << " is " << value_at(got[o].data, dtype, std::max<int64_t>(0, bad))
                          << ", expected " << value_at(expected[o].data, dtype, std::max<int64_t>(0, bad));
      }
    }
  }
  set_isa(found);
  return compared;
}

}  // namespace hw::testing
