// The lower median along an axis: the bytes of ordered keys are counted from the highest down, until one key is left.

#include <type_traits>

#include "kernels/lines/lines.h"
#include "kernels/reduce/plan.h"
#include "kernels/sort/keys.h"

namespace hw {

namespace {

/// Counts of the byte at `shift` in n keys. Four tables, because neighbours often meet in one bucket.
template <class Key>
void count_bytes(const Key* keys, int64_t n, int shift, uint32_t (&counts)[256]) {
  uint32_t tables[4][256] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int j = 0; j < 4; ++j) ++tables[j][keys[i + j] >> shift & 255];
  for (; i < n; ++i) ++tables[0][keys[i] >> shift & 255];
  for (int b = 0; b < 256; ++b) counts[b] = tables[0][b] + tables[1][b] + tables[2][b] + tables[3][b];
}

/// The key of the given rank among n; `rank` becomes its rank among the keys equal to it. The keys are used up.
template <class Key>
Key select(Key* keys, int64_t n, int64_t& rank) {
  for (int shift = 8 * static_cast<int>(sizeof(Key)) - 8; shift >= 0 && n > 1; shift -= 8) {
    uint32_t counts[256];
    count_bytes(keys, n, shift, counts);
    Key byte = 0;
    for (; rank >= counts[byte]; ++byte) rank -= counts[byte];
    if (counts[byte] == n) continue;
    int64_t left = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      keys[left] = key;
      left += (key >> shift & 255) == byte;
    }
    n = left;
  }
  return keys[0];
}

/// Of equal elements the one of the right rank; the first NaN before everything.
template <class T>
void median(const Line& line) {
  using Key = decltype(sort_key(T()));
  const T* x = static_cast<const T*>(line.in[0]);
  Key* keys = static_cast<Key*>(line.scratch);
  Key most = 0;
  for (int64_t k = 0; k < line.n; ++k) keys[k] = sort_key(x[k]), most = keys[k] > most ? keys[k] : most;
  int64_t rank = (line.n - 1) / 2;
  const bool nan = !std::is_integral_v<T> && most == static_cast<Key>(~Key{0});
  const Key wanted = nan ? most : select(keys, line.n, rank);
  if (nan) rank = 0;
  int64_t at = 0;
  while (sort_key(x[at]) != wanted || rank-- > 0) ++at;
  *static_cast<T*>(line.out[0]) = x[at];
  *static_cast<int64_t*>(line.out[1]) = at;
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::string& why_not) {
  LineSpec spec;
  const TensorSpec& x = request.inputs[0];
  if (x.ndim() > 0) spec.axes = reduced_axes(request.attrs[0], x.ndim());
  visit_sortable(x.dtype, [&]<class T>(Type<T>) {
    spec.fn = &median<T>;
    spec.scratch = sizeof(sort_key(T()));
  });
  if (!spec.fn) return why_not = "complex", nullptr;
  if (x.numel() >= int64_t{1} << 32) return why_not = "lines of 2^32 elements", nullptr;
  spec.in = {{LineRole::Whole, x.dtype}};
  spec.out = {{LineRole::PerLine, x.dtype}, {LineRole::PerLine, DType::I64}};
  spec.cost = 8;
  return make_line_kernel(request, std::move(spec), why_not);
}

const RegisterKernel registered({"_median_dim", "radix", DeviceType::CPU, 10, &prepare});

}  // namespace

}  // namespace hw
