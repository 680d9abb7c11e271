// A region of OpenMP, and for ThreadSanitizer the order that its beginning and its end make.
#include "base/team_region.h"

#include <omp.h>

namespace hw {

// libgomp is not built with ThreadSanitizer, and its threads wait on futexes: the order of a region is not seen, so it is told. The
// region itself is compiled unwatched: how the compiler hands over its variables is not ours. What `body` does is watched.
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
__attribute__((no_sanitize("thread"))) static void tell_before(void* place) { __tsan_release(place); }
__attribute__((no_sanitize("thread"))) static void tell_after(void* place) { __tsan_acquire(place); }
__attribute__((no_sanitize("thread")))
#else
static void tell_before(void*) {}
static void tell_after(void*) {}
#endif
void team_region(int threads, FunctionRef<void(int, int)> body) {
  char begun = 0, ended = 0;  // their addresses stand for this region
  tell_before(&begun);
#pragma omp parallel num_threads(threads)
  {
    tell_after(&begun);
    body(omp_get_thread_num(), omp_get_num_threads());
    tell_before(&ended);
  }
  tell_after(&ended);
}

}  // namespace hw
