// The elementwise driver and the copy kernel over layouts, dtypes, sizes and instruction sets.
#include "kernels/elementwise/driver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/visit.h"
#include "kernels/isa.h"
#include "kernels/loops/convert.h"

namespace hw {
namespace {

/// A tensor for tests: bytes, and a spec over them.
struct Array {
  TensorSpec spec;
  std::vector<char> bytes;
  int64_t first = 0;  // element

  static Array make(DType dtype, Dims shape, Dims strides = {}) {
    Array a;
    a.spec.dtype = dtype;
    a.spec.strides = strides.empty() ? contiguous_strides(shape) : strides;
    a.spec.shape = std::move(shape);
    int64_t last = 1;
    for (size_t i = 0; i < a.spec.shape.size(); ++i)
      last += std::max<int64_t>(a.spec.shape[i] - 1, 0) * a.spec.strides[i];
    a.bytes.resize(static_cast<size_t>(last * dtype_size(dtype)));
    return a;
  }
  Array& fill(int seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    visit_dtype(spec.dtype, [&]<class T>(Type<T>) {
      T* p = reinterpret_cast<T*>(bytes.data());
      const size_t n = bytes.size() / sizeof(T);
      for (size_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(static_cast<int>(random() % 200) - 100) / 8;
        find_convert(DType::F64, spec.dtype)(&v, 1, p + i, 1, 1);
      }
    });
    return *this;
  }
  std::vector<double> values() const {
    std::vector<double> out;
    std::vector<int64_t> index(spec.shape.size(), 0);
    for (int64_t k = 0, n = spec.numel(); k < n; ++k) {
      int64_t offset = 0;
      for (size_t a = 0; a < index.size(); ++a) offset += index[a] * spec.strides[a];
      double v;
      find_convert(spec.dtype, DType::F64)(bytes.data() + offset * dtype_size(spec.dtype), 1, &v, 1, 1);
      out.push_back(v);
      for (size_t a = index.size(); a-- > 0;) {
        if (++index[a] < spec.shape[a]) break;
        index[a] = 0;
      }
    }
    return out;
  }
};

LaunchStatus run(const char* op, std::vector<Array*> in, Array& out, DType compute, Attrs attrs = {},
                 const char* kernel = "simd") {
  std::vector<TensorSpec> specs;
  std::vector<const void*> pointers;
  for (Array* a : in) specs.push_back(a->spec), pointers.push_back(a->bytes.data());
  const KernelRequest request{op, specs, {&out.spec, 1}, attrs, compute};
  std::string why;
  LaunchStatus status;
  for (const KernelEntry& e : kernel_candidates(op, DeviceType::CPU)) {
    if (e.name != kernel) continue;
    std::unique_ptr<Kernel> k = e.prepare(request, why);
    if (!k) {
      ADD_FAILURE() << op << ": " << why;
      return status;
    }
    void* target = out.bytes.data();
    k->run({pointers.data(), &target, nullptr, &attrs, &status});
    return status;
  }
  ADD_FAILURE() << "no kernel " << kernel << " for " << op;
  return status;
}

/// NaN equals NaN.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (x != x && y != y); });
}

void same_as_reference(const char* op, std::vector<Array*> in, Array out, DType compute, Attrs attrs = {}) {
  Array expected = out;
  run(op, in, expected, compute, attrs, "reference");
  for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
    set_isa(level);
    Array got = out;
    run(op, in, got, compute, attrs);
    EXPECT_TRUE(same(got.values(), expected.values())) << op << " on " << isa_name(isa());
  }
  set_isa(isa_found());
}

TEST(ElementwiseDriver, Layouts) {
  for (int64_t n : {1, 3, 8, 17, 100, 511, 513, 1500}) {
    Array a = Array::make(DType::F32, {5, n}).fill(1), b = Array::make(DType::F32, {5, n}).fill(2);
    Array out = Array::make(DType::F32, {5, n});
    same_as_reference("add", {&a, &b}, out, DType::F32);
    Array row = Array::make(DType::F32, {n}).fill(3), column = Array::make(DType::F32, {5, 1}).fill(4);
    same_as_reference("sub", {&a, &row}, out, DType::F32);
    same_as_reference("mul", {&column, &a}, out, DType::F32);
    Array scalar = Array::make(DType::F32, {}).fill(5);
    same_as_reference("add", {&scalar, &b}, out, DType::F32);
    Array turned = Array::make(DType::F32, {5, n}, {1, 5}).fill(6),
          apart = Array::make(DType::F32, {5, n}, {3 * n, 3}).fill(7);
    same_as_reference("sub", {&turned, &apart}, out, DType::F32);
    Array out_turned = Array::make(DType::F32, {5, n}, {1, 7});
    same_as_reference("mul", {&turned, &b}, out_turned, DType::F32);
    same_as_reference("add", {&turned, &turned}, Array::make(DType::F32, {5, n}, {1, 5}), DType::F32);
  }
}

TEST(ElementwiseDriver, ShortRows) {
  Array a = Array::make(DType::F32, {700, 3}).fill(1), row = Array::make(DType::F32, {3}).fill(2);
  Array column = Array::make(DType::F32, {700, 1}).fill(3);
  same_as_reference("mul", {&a, &row}, Array::make(DType::F32, {700, 3}), DType::F32);
  same_as_reference("sub", {&column, &row}, Array::make(DType::F32, {700, 3}), DType::F32);
  same_as_reference("sub", {&column, &row}, Array::make(DType::F16, {700, 3}, {7, 2}), DType::F32);
}

TEST(ElementwiseDriver, TurnedInputs) {
  for (const Dims& shape : {Dims{1, 70, 100}, Dims{3, 33, 300}, Dims{2, 16, 128}}) {
    const int64_t r = shape[1], c = shape[2];
    Array a = Array::make(DType::F32, shape).fill(1), turned = Array::make(DType::F32, shape, {r * c, 1, r}).fill(2);
    Array other = Array::make(DType::BF16, shape, {r * c, 1, r}).fill(3),
          column = Array::make(DType::F32, {r, 1}).fill(4);
    Array out = Array::make(DType::F32, shape);
    same_as_reference("sub", {&a, &turned}, out, DType::F32);
    same_as_reference("sub", {&turned, &other}, out, DType::F32);
    same_as_reference("mul", {&turned, &column}, out, DType::F32);
    same_as_reference("add", {&turned, &other}, Array::make(DType::F16, shape, {2 * r * c, 2 * c, 2}), DType::F32);
    same_as_reference("lerp", {&turned, &a, &column}, out, DType::F32);
  }
}

TEST(ElementwiseDriver, IntegerDivisionByZeroIsReported) {
  Array a = Array::make(DType::I32, {3000}).fill(1), b = Array::make(DType::I32, {3000}).fill(2),
        out = Array::make(DType::I32, {3000});
  for (const char* op : {"floor_divide", "remainder", "fmod", "div_trunc"}) {
    EXPECT_TRUE(run(op, {&a, &b}, out, DType::I32).failed) << op;
    EXPECT_TRUE(run(op, {&a, &b}, out, DType::I32, {}, "reference").failed) << op;
  }
}

TEST(ElementwiseDriver, EveryPairOfDtypes) {
  for (int x = 0; x < kNumDTypes; ++x)
    for (int y = 0; y < kNumDTypes; ++y) {
      const DType dx = static_cast<DType>(x), dy = static_cast<DType>(y), d = promote(dx, dy);
      Array a = Array::make(dx, {3, 40}).fill(x), b = Array::make(dy, {40}).fill(y + 20);
      same_as_reference("add", {&a, &b}, Array::make(d, {3, 40}), d);
      same_as_reference("mul", {&a, &b}, Array::make(d, {3, 40}), d);
    }
}

TEST(ElementwiseDriver, SixteenBitFloatsComputeInFloat) {
  Array a = Array::make(DType::BF16, {1000}).fill(1), b = Array::make(DType::F16, {1000}).fill(2);
  same_as_reference("add", {&a, &a}, Array::make(DType::BF16, {1000}), DType::BF16);
  same_as_reference("div", {&b, &b}, Array::make(DType::F16, {1000}), DType::F16);
}

TEST(ElementwiseDriver, EmptyAndZeroDim) {
  Array a = Array::make(DType::F32, {0, 4}), b = Array::make(DType::F32, {4}).fill(1),
        out = Array::make(DType::F32, {0, 4});
  run("add", {&a, &b}, out, DType::F32);
  Array x = Array::make(DType::F32, {}).fill(1), y = Array::make(DType::F64, {}).fill(2);
  same_as_reference("add", {&x, &x}, Array::make(DType::F32, {}), DType::F32);
  same_as_reference("add", {&x, &y}, Array::make(DType::F64, {}), DType::F64);
}

TEST(ElementwiseDriver, LargeIsSplitOverThreads) {
  Array a = Array::make(DType::F32, {1000, 300}).fill(1), b = Array::make(DType::F32, {300}).fill(2);
  same_as_reference("add", {&a, &b}, Array::make(DType::F32, {1000, 300}), DType::F32);
  same_as_reference("add", {&a, &a}, Array::make(DType::F32, {1000, 300}), DType::F32);
  same_as_reference("add", {&a, &a}, Array::make(DType::F32, {1000, 300}, {1, 1000}), DType::F32);
}

TEST(ElementwiseDriver, AddTakesAlpha) {
  Array a = Array::make(DType::F32, {20}).fill(1), b = Array::make(DType::F32, {20}).fill(2),
        out = Array::make(DType::F32, {20});
  run("add", {&a, &b}, out, DType::F32, {Scalar(2.0)});
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(out.values()[i], a.values()[i] + 2 * b.values()[i]);
}

TEST(Copy, EveryPairOfDtypesAndLayout) {
  for (int x = 0; x < kNumDTypes; ++x)
    for (int y = 0; y < kNumDTypes; ++y) {
      const DType from = static_cast<DType>(x), to = static_cast<DType>(y);
      for (const Dims& strides : {Dims{70, 1}, Dims{1, 9}, Dims{140, 2}, Dims{0, 1}}) {
        Array a = Array::make(from, {9, 70}, strides).fill(x), out = Array::make(to, {9, 70});
        run("copy", {&a}, out, DType::None);
        std::vector<double> expected;
        for (double v : a.values()) {
          alignas(16) char element[16];
          double back;
          find_convert(DType::F64, to)(&v, 1, element, 1, 1);
          find_convert(to, DType::F64)(element, 1, &back, 1, 1);
          expected.push_back(back);
        }
        EXPECT_EQ(out.values(), expected) << dtype_name(from) << " to " << dtype_name(to);
      }
    }
}

TEST(Copy, Transposes) {
  for (DType d : {DType::U8, DType::BF16, DType::F32, DType::F64, DType::C128})
    for (const Dims& shape : {Dims{3, 65, 130}, Dims{2, 4, 4}, Dims{1, 300, 257}, Dims{5, 7, 16}}) {
      const int64_t r = shape[1], c = shape[2];
      Array a = Array::make(d, shape, {r * c, 1, r}).fill(1), out = Array::make(d, shape);
      run("copy", {&a}, out, DType::None);
      EXPECT_EQ(out.values(), a.values());
    }
}

TEST(Convert, FloatToIntegerNeverTraps) {
  const float in[] = {3e9f, -3e9f, 1e20f, INFINITY, -INFINITY, 2147483520.0f, -1.5f, 300.7f};
  int32_t out[8];
  find_convert(DType::F32, DType::I32)(in, 1, out, 1, 8);
  const int32_t expected[] = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX, INT32_MIN, 2147483520, -1, 300};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], expected[i]);
  int64_t wide[8];
  find_convert(DType::F32, DType::I64)(in, 1, wide, 1, 8);
  EXPECT_EQ(wide[0], 3000000000);
  EXPECT_EQ(wide[2], INT64_MAX);
  const double tail = -1.0;
  uint8_t narrow;
  find_convert(DType::F64, DType::U8)(&tail, 1, &narrow, 1, 1);
  EXPECT_EQ(narrow, 255);
  const double nan = NAN;
  find_convert(DType::F64, DType::U8)(&nan, 1, &narrow, 1, 1);  // any value, but no trap
}

TEST(Convert, HalfRowsAsScalars) {
  std::vector<float> in;
  for (uint64_t u = 0; u <= 0xffffffffu; u += 9973 * 11) in.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  for (DType d : {DType::F16, DType::BF16})
    for (Isa level : {Isa::Scalar, Isa::AVX2, Isa::AVX512, Isa::Neon}) {
      set_isa(level);
      std::vector<uint16_t> fast(in.size()), plain(in.size());
      find_convert_row(DType::F32, d)(in.data(), fast.data(), static_cast<int64_t>(in.size()));
      find_convert(DType::F32, d)(in.data(), 1, plain.data(), 1, static_cast<int64_t>(in.size()));
      std::vector<float> back(in.size()), back_plain(in.size());
      find_convert_row(d, DType::F32)(fast.data(), back.data(), static_cast<int64_t>(in.size()));
      find_convert(d, DType::F32)(plain.data(), 1, back_plain.data(), 1, static_cast<int64_t>(in.size()));
      for (size_t i = 0; i < in.size(); ++i) {
        if (std::isnan(in[i])) {
          ASSERT_TRUE(std::isnan(back[i]) && std::isnan(back_plain[i]));
        } else {
          ASSERT_EQ(fast[i], plain[i]) << in[i] << " to " << dtype_name(d) << " on " << isa_name(isa());
          ASSERT_EQ(back[i], back_plain[i]);
        }
      }
    }
  set_isa(isa_found());
}

TEST(Isa, IsOnlyLowered) {
  set_isa(Isa::Scalar);
  EXPECT_EQ(isa(), Isa::Scalar);
  set_isa(Isa::AVX512);
  EXPECT_LE(static_cast<int>(isa()), static_cast<int>(isa_found()));
  set_isa(isa_found());
  EXPECT_EQ(isa(), isa_found());
}

TEST(Registry, PassesOverKernelsThatAreOff) {
  Array a = Array::make(DType::F32, {4}).fill(1), out = Array::make(DType::F32, {4});
  const TensorSpec in[] = {a.spec, a.spec};
  const Attrs none;
  const KernelRequest request{"add", in, {&out.spec, 1}, none, DType::F32};
  std::string chosen;
  prepare_kernel(request, DeviceType::CPU, &chosen);
  EXPECT_EQ(chosen, "simd");
  set_kernels_off("other,simd");
  prepare_kernel(request, DeviceType::CPU, &chosen);
  EXPECT_EQ(chosen, "reference");
  set_kernels_off("reference,simd");
  EXPECT_THROW(prepare_kernel(request, DeviceType::CPU), Error);
  set_kernels_off("");
}

}  // namespace
}  // namespace hw
