// Counts calls of malloc and its kind between counting_start and counting_stop; test_allocations.py builds and preloads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>

enum { kKept = 8192, kDepth = 24 };

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_int on;
static atomic_long count;
static void *frames[kKept][kDepth];
static int depths[kKept];
static _Thread_local int inside;  // backtrace may allocate itself

static void note(void) {
  if (inside || !atomic_load_explicit(&on, memory_order_relaxed)) return;
  long at = atomic_fetch_add(&count, 1);
  if (at >= kKept) return;
  inside = 1;
  depths[at] = backtrace(frames[at], kDepth);
  inside = 0;
}

void counting_start(void) {
  void *first[4];
  backtrace(first, 4);  // loads what it needs
  atomic_store(&count, 0);
  atomic_store(&on, 1);
}

long counting_stop(void) {
  atomic_store(&on, 0);
  return atomic_load(&count);
}

/// How many of the calls had a function of a library on the stack whose path contains `library`.
long counted_below(const char *library) {
  long found = 0, most = atomic_load(&count);
  for (long i = 0; i < most && i < kKept; ++i)
    for (int d = 0; d < depths[i]; ++d) {
      Dl_info info;
      if (!dladdr(frames[i][d], &info) || !strstr(info.dli_fname, library)) continue;
      ++found;
      break;
    }
  return found;
}

void *malloc(size_t bytes) {
  note();
  return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
  note();
  return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes) {
  note();
  return __libc_realloc(p, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **p, size_t alignment, size_t bytes) {
  *p = memalign(alignment, bytes);
  return *p ? 0 : 12;
}
