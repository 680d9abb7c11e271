// The few functions that libheadwater_mpi.so offers, in C: the extension itself is not linked with any MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hw {

constexpr int kMpiTableVersion = 2;
constexpr const char* kMpiTableSymbol = "headwater_mpi_table";
constexpr size_t kMpiTextBytes = 2048;  // of causes and error messages, with the zero at the end

struct MpiWorld {
  int rank = 0, size = 1, local_rank = 0, local_size = 1, max_tag = 0;
};

/// Results: 0, or not 0 with a message in `text` (kMpiTextBytes). Threads take turns; after finish() nothing is sent any more.
struct MpiTable {
  int version;
  /// Initialises MPI unless somebody did. On the program's main thread. A rank that is silent for `lost_after` seconds counts as
  /// lost; 0: never.
  int (*start)(MpiWorld* world, double lost_after, char* text);
  int (*post)(uint64_t id, int channel, bool sends, void* data, size_t bytes, int peer, int tag, char* text);
  /// How many messages of at most `capacity` are done; only the last of them may have failed, and `text` says why.
  int (*poll)(uint64_t* ids, int* failed, int capacity, char* text);
  /// Whether another rank gave up, or has been silent for too long; the cause in `text`.
  bool (*heard_abort)(char* text);
  /// Lets the others know that this rank lives. heard_abort() does so too.
  void (*keep_alive)();
  /// Tells all others, and withdraws what is under way.
  void (*say_abort)(const char* text);
  /// After an abort, by all ranks: lets what was under way come to its end, and begins with channels of their own. Fails when not
  /// all ranks come within `seconds`.
  int (*renew)(double seconds, char* text);
  /// Says that this rank will be silent from now on.
  void (*leave)();
  /// Ends MPI if start() began it. On the program's main thread, when all ranks come to their end without an error.
  void (*finish)();
};

}  // namespace hw
