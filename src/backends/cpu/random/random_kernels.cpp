// rand, randn, uniform_, normal_, random integers and _dropout by chunks of SIMD words; _dropout_grad.
#include "backends/cpu/random/numbers.h"
#include "base/thread_team.h"
#include "core/visit.h"
#include "kernels/kernel.h"
#include "kernels/loops/convert_value.h"
#include "kernels/loops/each.h"
#include "kernels/random/request.h"

namespace hw {

namespace {

/// Calls f(begin, end) for chunks of a draw, on several threads.
template <class F>
void chunks(int64_t n, F&& f) {
  parallel_for((n + kRandomChunk - 1) / kRandomChunk, 16, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) f(c * kRandomChunk, std::min(n, (c + 1) * kRandomChunk));
  });
}

/// Floats of a chunk to where they belong: converted, and at the output's strides.
void spread(const float* numbers, const TensorSpec& y, void* data, int64_t begin, int64_t end) {
  visit_floating(y.dtype, [&]<class T>(Type<T>) {
    T* to = static_cast<T*>(data);
    if (y.contiguous()) {
      for (int64_t i = begin; i < end; ++i) to[i] = convert_value<T>(numbers[i - begin]);
      return;
    }
    const float* from = numbers;
    each<1>(
        y.shape, {y.strides}, [&](int64_t at) { to[at] = convert_value<T>(*from++); }, begin, end);
  });
}

class Numbers final : public Kernel {
 public:
  Numbers(const TensorSpec& y, UniformChunk chunk, double first, double second)
      : y_(y), chunk_(chunk), first_(static_cast<float>(first)), second_(static_cast<float>(second)) {
    y_.strides = strides_of(y);
    direct_ = y.dtype == DType::F32 && y.contiguous();
  }
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    chunks(y_.numel(), [&](int64_t begin, int64_t end) {
      if (direct_ && end - begin == kRandomChunk)
        return chunk_(draw, begin, end, first_, second_, static_cast<float*>(args.outputs[0]) + begin);
      // Whole vectors always, so that an element does not depend on where the tensor ends.
      alignas(64) float numbers[kRandomChunk];
      chunk_(draw, begin, std::min(begin + kRandomChunk, begin + (end - begin + 63) / 64 * 64), first_, second_,
             numbers);
      spread(numbers, y_, args.outputs[0], begin, end);
    });
  }

 private:
  TensorSpec y_;
  UniformChunk chunk_;
  float first_, second_;
  bool direct_;
};

template <bool kNormal, bool kGiven>
std::unique_ptr<Kernel> prepare_numbers(const KernelRequest& r, std::string& why_not) {
  if (r.outputs[0].dtype == DType::F64) {
    why_not = "only for types of up to 32 bits";
    return nullptr;
  }
  double first = 0, second = 1;
  if (kGiven) first = r.attrs[0].f64(), second = r.attrs[1].f64();
  if (!kNormal) second = static_cast<float>(second) - static_cast<float>(first);  // the width
  return std::make_unique<Numbers>(r.outputs[0], kNormal ? find_normal_chunk() : find_uniform_chunk(), first, second);
}

/// low + [0, range), two words for each.
class Integers final : public Kernel {
 public:
  Integers(const TensorSpec& y, int64_t low, uint64_t range)
      : y_(y), words_(find_words_chunk()), low_(low), range_(range) {
    y_.strides = strides_of(y);
  }
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      chunks(y_.numel(), [&](int64_t begin, int64_t end) {
        alignas(64) uint32_t words[2 * kRandomChunk];
        if (range_ <= Draw::kNarrowRange) {
          words_(draw, static_cast<uint64_t>(begin) >> 2, (end - begin + 3) / 4, words);
          const uint32_t range = static_cast<uint32_t>(range_);
          const uint32_t* w = words;
          auto one = [&](int64_t at) {
            y[at] = convert_value<T>(low_ + static_cast<int64_t>(uint64_t{*w++} * range >> 32));
          };
          if (y_.contiguous())
            for (int64_t i = begin; i < end; ++i) one(i);
          else
            each<1>(y_.shape, {y_.strides}, one, begin, end);
          return;
        }
        words_(draw, static_cast<uint64_t>(begin) >> 1, (end - begin + 1) / 2, words);
        const uint32_t* w = words;
        auto one = [&](int64_t at) {
          const uint64_t wide = uint64_t{w[1]} << 32 | w[0];
          w += 2;
          const uint64_t offset = static_cast<uint64_t>(static_cast<unsigned __int128>(wide) * range_ >> 64);
          y[at] = convert_value<T>(static_cast<int64_t>(static_cast<uint64_t>(low_) + offset));
        };
        if (y_.contiguous())
          for (int64_t i = begin; i < end; ++i) one(i);
        else
          each<1>(y_.shape, {y_.strides}, one, begin, end);
      });
    });
  }

 private:
  TensorSpec y_;
  WordsChunk words_;
  int64_t low_;
  uint64_t range_;
};

std::unique_ptr<Kernel> prepare_randint(const KernelRequest& r, std::string&) {
  const int64_t low = r.attrs[0].i64(), high = r.attrs[1].i64();
  return std::make_unique<Integers>(r.outputs[0], low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

/// Fisher and Yates, with the random words of a chunk made at once.
class Permutation final : public Kernel {
 public:
  explicit Permutation(const TensorSpec& y) : y_(y), words_(find_words_chunk()) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(y_.numel()) * 8; }
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    int64_t* order = y_.dtype == DType::I64 && y_.contiguous() ? static_cast<int64_t*>(args.outputs[0])
                                                               : static_cast<int64_t*>(args.scratch);
    const int64_t n = y_.numel();
    for (int64_t i = 0; i < n; ++i) order[i] = i;
    for (int64_t end = n; end > 0; end = (end - 1) / kRandomChunk * kRandomChunk)
      shuffle(draw, (end - 1) / kRandomChunk * kRandomChunk, end, order);
    if (order == args.outputs[0]) return;
    visit_dtype(y_.dtype, [&]<class T>(Type<T>) {
      T* y = static_cast<T*>(args.outputs[0]);
      int64_t i = 0;
      each<1>(y_.shape, {strides_of(y_)}, [&](int64_t at) { y[at] = convert_value<T>(order[i++]); });
    });
  }

 private:
  void shuffle(const Draw& draw, int64_t begin, int64_t end, int64_t* order) const {
    alignas(64) uint32_t words[2 * kRandomChunk];
    // Draw::below: one word an element up to kNarrowRange, which is a multiple of the chunk, then two.
    if (begin < static_cast<int64_t>(Draw::kNarrowRange)) {
      words_(draw, static_cast<uint64_t>(begin) >> 2, (end - begin + 3) / 4, words);
      for (int64_t i = end - 1; i >= std::max<int64_t>(begin, 1); --i)
        std::swap(order[i], order[words[i - begin] * static_cast<uint64_t>(i + 1) >> 32]);
      return;
    }
    words_(draw, static_cast<uint64_t>(begin) >> 1, (end - begin + 1) / 2, words);
    for (int64_t i = end - 1; i >= begin; --i) {
      const uint32_t* w = words + 2 * (i - begin);
      const uint64_t wide = uint64_t{w[1]} << 32 | w[0];
      std::swap(
          order[i],
          order[static_cast<uint64_t>(static_cast<unsigned __int128>(wide) * static_cast<uint64_t>(i + 1) >> 64)]);
    }
  }
  TensorSpec y_;
  WordsChunk words_;
};

std::unique_ptr<Kernel> prepare_permutation(const KernelRequest& r, std::string&) {
  return std::make_unique<Permutation>(r.outputs[0]);
}

class Dropout final : public Kernel {
 public:
  Dropout(const KernelRequest& r, int64_t kind)
      : n_(r.inputs[0].numel()),
        size_(dtype_size(r.inputs[0].dtype)),
        p_(r.attrs[0].f64()),
        chunk_(find_dropout_chunk(kind)) {}
  void run(const KernelArgs& args) const override {
    const Draw draw = draw_of(args);
    const uint64_t threshold = static_cast<uint64_t>(p_ * 0x1p32);
    const float factor = p_ < 1 ? static_cast<float>(1 / (1 - p_)) : 0;
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* y = static_cast<char*>(args.outputs[0]);
    bool* mask = static_cast<bool*>(args.outputs[1]);
    chunks(n_, [&](int64_t begin, int64_t end) {
      chunk_(draw, begin, end, threshold, factor, x + begin * size_, y + begin * size_, mask + begin);
    });
  }

 private:
  int64_t n_, size_;
  double p_;
  DropoutChunk chunk_;
};

std::unique_ptr<Kernel> prepare_dropout(const KernelRequest& r, std::string& why_not) {
  const DType d = r.inputs[0].dtype;
  const int64_t kind = d == DType::F32 ? 0 : d == DType::F16 ? 1 : d == DType::BF16 ? 2 : -1;
  if (kind >= 0 && r.inputs[0].contiguous() && r.outputs[0].contiguous() && r.outputs[1].contiguous())
    return std::make_unique<Dropout>(r, kind);
  why_not = "needs contiguous tensors of at most 32 bits";
  return nullptr;
}

class DropoutGrad final : public Kernel {
 public:
  explicit DropoutGrad(const KernelRequest& r)
      : n_(r.inputs[0].numel()), dtype_(r.inputs[0].dtype), scale_(r.attrs[0].f64()) {}
  void run(const KernelArgs& args) const override {
    visit_floating(dtype_, [&]<class T>(Type<T>) {
      const T* dy = static_cast<const T*>(args.inputs[0]);
      const uint8_t* mask = static_cast<const uint8_t*>(args.inputs[1]);
      T* dx = static_cast<T*>(args.outputs[0]);
      using A = Accumulate<T>;
      const A scale = static_cast<A>(scale_);
      parallel_for(n_, 32768, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const A value = static_cast<A>(dy[i]) * scale;
          dx[i] = mask[i] ? T(value) : T(A(0));
        }
      });
    });
  }

 private:
  int64_t n_;
  DType dtype_;
  double scale_;
};

std::unique_ptr<Kernel> prepare_dropout_grad(const KernelRequest& r, std::string& why_not) {
  if (is_floating(r.inputs[0].dtype) && r.inputs[0].contiguous() && r.inputs[1].contiguous() &&
      r.outputs[0].contiguous())
    return std::make_unique<DropoutGrad>(r);
  why_not = "needs contiguous floating tensors";
  return nullptr;
}

const RegisterKernel rand({"rand", "simd", DeviceType::CPU, 10, &prepare_numbers<false, false>});
const RegisterKernel uniform({"uniform_", "simd", DeviceType::CPU, 10, &prepare_numbers<false, true>});
const RegisterKernel randn({"randn", "simd", DeviceType::CPU, 10, &prepare_numbers<true, false>});
const RegisterKernel normal({"normal_", "simd", DeviceType::CPU, 10, &prepare_numbers<true, true>});
const RegisterKernel randint({"_randint", "simd", DeviceType::CPU, 10, &prepare_randint});
const RegisterKernel permutation({"randperm", "simd", DeviceType::CPU, 10, &prepare_permutation});
const RegisterKernel dropout({"_dropout", "simd", DeviceType::CPU, 10, &prepare_dropout});
const RegisterKernel dropout_grad({"_dropout_grad", "cpu", DeviceType::CPU, 10, &prepare_dropout_grad});

}  // namespace
}  // namespace hw
