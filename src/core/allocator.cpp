// Caching allocator. Freed blocks are kept by rounded size; those of 1 MiB and more are mapped. Under AddressSanitizer each
// tensor is a block of the heap, exactly as long as asked for, so that a read behind its end or after its death is seen.
#include "core/allocator.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/flags.h"
#include "base/trace.h"

namespace hw {

static constexpr size_t kAlign = 64;
#ifdef __SANITIZE_ADDRESS__
static constexpr bool kSanitized = true;
static constexpr size_t kLarge = ~size_t{0};
#else
static constexpr bool kSanitized = false;
static constexpr size_t kLarge = size_t{1} << 20;
#endif

/// Sizes are rounded so that blocks are reused: to 64 bytes up to 1 KiB, then to an eighth of the power of two below.
static size_t rounded(size_t bytes) {
  if (bytes <= 1024) return (bytes + kAlign - 1) / kAlign * kAlign;
  size_t step = size_t{1} << (63 - __builtin_clzll(bytes) - 3);
  if (step < kAlign) step = kAlign;
  return (bytes + step - 1) / step * step;
}

namespace {

struct Cache {
  std::mutex mutex;
  std::vector<void*> small_blocks[1024 / kAlign + 1];  // by size / kAlign
  std::unordered_map<size_t, std::vector<void*>> large_blocks;
  MemoryStats stats;
  size_t cached = 0;
  size_t cache_limit = static_cast<size_t>(flag_int("HEADWATER_CACHE_LIMIT_MB", 4096)) << 20;

  std::vector<void*>& blocks(size_t size) { return size <= 1024 ? small_blocks[size / kAlign] : large_blocks[size]; }
  void* take(size_t size) {
    std::vector<void*>& list = blocks(size);
    if (list.empty()) return nullptr;
    void* p = list.back();
    list.pop_back();
    cached -= size;
    return p;
  }
  void give_back(std::vector<void*>& list, size_t size) {
    for (void* p : list) release(p, size);
    list.clear();
  }
  void give_back_all() {
    for (size_t i = 0; i < std::size(small_blocks); ++i) give_back(small_blocks[i], i * kAlign);
    for (auto& [size, list] : large_blocks) give_back(list, size);
    cached = 0;
  }
  /// `bytes` from the system, for a block of `size`. Large blocks are mapped, so that giving them back lowers the resident
  /// size at once.
  static void* obtain(size_t size, size_t bytes) {
    if (kSanitized) {
      void* exact = nullptr;
      return posix_memalign(&exact, kAlign, bytes) == 0 ? exact : nullptr;
    }
    if (size < kLarge) return std::aligned_alloc(kAlign, size);
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    if (size >= (size_t{4} << 20)) madvise(p, size, MADV_HUGEPAGE);
    return p;
  }
  void release(void* p, size_t size) {
    if (size < kLarge)
      std::free(p);
    else
      munmap(p, size);
    stats.reserved -= static_cast<int64_t>(size);
  }
};

}  // namespace

static Cache& cache() {
  static Cache* c = new Cache;  // never destroyed: tensors may outlive static destructors
  return *c;
}

static size_t machine_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

void* allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > machine_memory())
    fail(ErrorKind::Memory, "a tensor of ", bytes, " bytes does not fit: this machine has ", machine_memory(),
         " bytes");
  size_t size = rounded(bytes);
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  ++c.stats.allocations;
  void* p = c.take(size);
  if (p) {
    ++c.stats.cache_hits;
  } else {
    p = Cache::obtain(size, bytes);
    if (!p) {
      c.give_back_all();
      p = Cache::obtain(size, bytes);
    }
    if (!p)
      fail(ErrorKind::Memory, "out of memory: ", bytes, " bytes were asked for while ", c.stats.allocated,
           " bytes are in live tensors. Free tensors, or use a smaller batch.");
    c.stats.reserved += static_cast<int64_t>(size);
    c.stats.peak_reserved = std::max(c.stats.peak_reserved, c.stats.reserved);
  }
  c.stats.allocated += static_cast<int64_t>(size);
  c.stats.peak_allocated = std::max(c.stats.peak_allocated, c.stats.allocated);
  if (tracing()) [[unlikely]]
    trace_memory(static_cast<int64_t>(size), c.stats.allocated);
  return p;
}

void deallocate(void* p, size_t bytes) noexcept {
  if (!p) return;
  size_t size = rounded(bytes);
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.stats.allocated -= static_cast<int64_t>(size);
  if (tracing()) [[unlikely]]
    trace_memory(-static_cast<int64_t>(size), c.stats.allocated);
  if (kSanitized || c.cached + size > c.cache_limit) return c.release(p, size);
  c.blocks(size).push_back(p);
  c.cached += size;
}

MemoryStats memory_stats() {
  std::lock_guard lock(cache().mutex);
  return cache().stats;
}

void reset_peak_memory_stats() {
  std::lock_guard lock(cache().mutex);
  MemoryStats& s = cache().stats;
  s.peak_allocated = s.allocated;
  s.peak_reserved = s.reserved;
}

void empty_cache() noexcept {
  std::lock_guard lock(cache().mutex);
  cache().give_back_all();
#ifdef __GLIBC__
  malloc_trim(0);  // small blocks go back to the heap, which by itself gives its pages back late or never
#endif
}

}  // namespace hw
