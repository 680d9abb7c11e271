// libheadwater_mpi.so: messages over MPI. Only calls of the MPI-3 standard; opened on demand, so that nothing else needs MPI.
//
// The engine lets one thread at a time into these functions, and which one changes: MPI_THREAD_SERIALIZED is what this needs.
// start() and finish() are for the main thread, as MPI wants.
#include <mpi.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "comm/mpi/table.h"

namespace hw {
namespace {

constexpr int kControlTag = 0;

struct Slot {
  uint64_t id;
  size_t bytes;
  int peer;
  bool sends;
};

struct Ended {
  uint64_t id;
  int failed;
  std::string text;
};

struct State {
  MPI_Comm channels[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, control = MPI_COMM_NULL;
  MpiWorld world;
  bool ours = false, started = false, heard = false;
  std::vector<MPI_Request> requests;  // slots[i] says what requests[i] is
  std::vector<Slot> slots;
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::deque<Ended> ended;  // and not told yet
  MPI_Request news = MPI_REQUEST_NULL;
  char news_text[kMpiTextBytes] = {};
} state;

void explain(int code, const char* doing, char* text) {
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, words, &length);
  std::snprintf(text, kMpiTextBytes, "%s: %s", doing, words);
}

int listen() {
  return MPI_Irecv(state.news_text, kMpiTextBytes, MPI_CHAR, MPI_ANY_SOURCE, kControlTag, state.control, &state.news);
}

int start(MpiWorld* world, char* text) {
  State& s = state;
  if (!s.started) {
    int initialized = 0, finalized = 0, level = 0, code = MPI_SUCCESS, found = 0;
    MPI_Finalized(&finalized);
    if (finalized) return std::snprintf(text, kMpiTextBytes, "MPI has been finalized already");
    MPI_Initialized(&initialized);
    if (initialized)
      code = MPI_Query_thread(&level);
    else
      code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) return explain(code, "MPI_Init_thread", text), 1;
    s.ours = !initialized;
    if (level < MPI_THREAD_SERIALIZED)
      return std::snprintf(text, kMpiTextBytes,
                           "MPI was initialised for thread level %d, MPI_THREAD_SERIALIZED is needed", level);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.world.size);
    for (MPI_Comm* c : {&s.channels[0], &s.channels[1], &s.control}) {
      if ((code = MPI_Comm_dup(MPI_COMM_WORLD, c)) != MPI_SUCCESS) return explain(code, "MPI_Comm_dup", text), 1;
      MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN);
    }
    MPI_Comm host = MPI_COMM_NULL;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) == MPI_SUCCESS) {
      MPI_Comm_rank(host, &s.world.local_rank);
      MPI_Comm_size(host, &s.world.local_size);
      MPI_Comm_free(&host);
    }
    void* bound = nullptr;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    s.world.max_tag = found ? *static_cast<int*>(bound) : 32767;
    if ((code = listen()) != MPI_SUCCESS) return explain(code, "MPI_Irecv", text), 1;
    s.started = true;
  }
  *world = s.world;
  return 0;
}

int post(uint64_t id, int channel, bool sends, void* data, size_t bytes, int peer, int tag, char* text) {
  State& s = state;
  if (bytes > INT_MAX) return std::snprintf(text, kMpiTextBytes, "a message of %zu bytes is too long", bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = s.channels[channel];
  int count = static_cast<int>(bytes);
  int code = sends ? MPI_Isend(data, count, MPI_BYTE, peer, tag, comm, &request)
                   : MPI_Irecv(data, count, MPI_BYTE, peer, tag, comm, &request);
  if (code != MPI_SUCCESS) return explain(code, sends ? "MPI_Isend" : "MPI_Irecv", text), 1;
  s.requests.push_back(request);
  s.slots.push_back({id, bytes, peer, sends});
  return 0;
}

/// Whether a message that is done is what was expected; else 1 and why.
int judge(const Slot& slot, const MPI_Status& status, int code, char* text) {
  int received = 0;
  if (code == MPI_SUCCESS && slot.sends) return 0;
  if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &received);
  if (code == MPI_SUCCESS && static_cast<size_t>(received) == slot.bytes) return 0;
  int kind = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  if (code == MPI_SUCCESS)
    std::snprintf(text, kMpiTextBytes, "rank %d sent %d bytes, %zu were expected", slot.peer, received, slot.bytes);
  else if (kind == MPI_ERR_TRUNCATE)
    std::snprintf(text, kMpiTextBytes, "rank %d sent more than %zu bytes, %zu were expected", slot.peer, slot.bytes,
                  slot.bytes);
  else
    explain(code, slot.sends ? "send" : "recv", text);
  return 1;
}

int poll(uint64_t* ids, int* failed, int capacity, char* text) {
  State& s = state;
  if (!s.requests.empty()) {
    int n = static_cast<int>(s.requests.size()), done = 0;
    s.indices.resize(s.requests.size());
    s.statuses.resize(s.requests.size());
    int code = MPI_Testsome(n, s.requests.data(), &done, s.indices.data(), s.statuses.data());
    if (done == MPI_UNDEFINED) done = 0;
    for (int i = 0; i < done; ++i) {
      Slot& slot = s.slots[s.indices[i]];
      s.ended.push_back({slot.id, 0, {}});
      char words[kMpiTextBytes];
      int own = code == MPI_ERR_IN_STATUS ? s.statuses[i].MPI_ERROR : MPI_SUCCESS;
      s.ended.back().failed = judge(slot, s.statuses[i], own, words);
      if (s.ended.back().failed) s.ended.back().text = words;
      slot.id = 0;
    }
    size_t kept = 0;
    for (size_t i = 0; done && i < s.slots.size(); ++i) {
      if (s.slots[i].id == 0) continue;
      s.slots[kept] = s.slots[i];
      s.requests[kept++] = s.requests[i];
    }
    if (done) {
      s.slots.resize(kept);
      s.requests.resize(kept);
    }
  }
  int told = 0;
  for (; told < capacity && !s.ended.empty(); ++told) {
    const Ended& e = s.ended.front();
    ids[told] = e.id;
    failed[told] = e.failed;
    bool stop = e.failed;
    if (e.failed) std::snprintf(text, kMpiTextBytes, "%s", e.text.c_str());
    s.ended.pop_front();
    if (stop) return told + 1;  // `text` holds one message
  }
  return told;
}

bool heard_abort(char* text) {
  int done = 0;
  if (!state.heard && state.news != MPI_REQUEST_NULL &&
      MPI_Test(&state.news, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
    state.heard = true;
  if (state.heard) std::memcpy(text, state.news_text, kMpiTextBytes);
  return state.heard;
}

/// Lets requests come to their end for at most `seconds`.
void drain(std::vector<MPI_Request>& requests, double seconds) {
  int done = 0;
  for (double begin = MPI_Wtime(); !done && MPI_Wtime() - begin < seconds;)
    if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
      return;
}

void say_abort(const char* text) {
  State& s = state;
  static char words[kMpiTextBytes];
  std::snprintf(words, sizeof words, "%s", text);
  std::vector<MPI_Request> told;
  for (int r = 0; r < s.world.size && !s.heard; ++r) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (r != s.world.rank &&
        MPI_Isend(words, kMpiTextBytes, MPI_CHAR, r, kControlTag, s.control, &request) == MPI_SUCCESS)
      told.push_back(request);
  }
  drain(told, 0.5);
  for (size_t i = 0; i < s.requests.size(); ++i)
    if (!s.slots[i].sends && s.requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&s.requests[i]);
  drain(s.requests, 0.2);
}

void finish() {
  State& s = state;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!s.started || finalized) return;
  s.started = false;
  if (s.news != MPI_REQUEST_NULL) {
    MPI_Cancel(&s.news);
    MPI_Wait(&s.news, MPI_STATUS_IGNORE);
  }
  for (MPI_Comm* c : {&s.channels[0], &s.channels[1], &s.control}) MPI_Comm_free(c);
  if (s.ours) MPI_Finalize();
}

}  // namespace
}  // namespace hw

extern "C" __attribute__((visibility("default"))) const hw::MpiTable* headwater_mpi_table() {
  static const hw::MpiTable table{hw::kMpiTableVersion, hw::start,     hw::post,  hw::poll,
                                  hw::heard_abort,      hw::say_abort, hw::finish};
  return &table;
}
