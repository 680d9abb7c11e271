// libheadwater_mpi.so: messages over MPI. Only calls of the MPI-3 standard; opened on demand, so that nothing else needs MPI.
//
// The engine lets one thread at a time into these functions, and which one changes: MPI_THREAD_SERIALIZED is what this needs.
// start() and finish() are for the main thread, as MPI wants.
#include <mpi.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/mpi/pulse.h"
#include "comm/mpi/table.h"

namespace hw {
namespace {

constexpr int kControlTag = 0, kPulseTag = 0;
constexpr char kAlive = 0, kLeaves = 1;  // what a beat says

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
  MPI_Comm channels[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, control = MPI_COMM_NULL, pulse_comm = MPI_COMM_NULL;
  MpiWorld world;
  bool ours = false, started = false, heard = false;
  Pulse pulse;
  double next_look = 0;  // at beats: seldom, a request to test would be felt
  char beat = 0;         // the one that comes next
  MPI_Request beats = MPI_REQUEST_NULL;
  std::vector<MPI_Request> told;      // beats to each rank that are under way
  std::vector<MPI_Request> requests;  // slots[i] says what requests[i] is
  std::vector<Slot> slots;
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::deque<Ended> ended;  // and not told yet
  MPI_Request news = MPI_REQUEST_NULL;
  char news_text[kMpiTextBytes] = {};
  std::deque<std::string> causes;  // told to others
  std::vector<MPI_Request> causes_told;
} state;

// finish() comes at the end of the program, while the thread of an engine that somebody still holds may look for messages.
std::mutex gate;

/// A function of the table, one thread at a time. After finish() it does nothing, or fails with a message in its last argument.
template <auto f, bool fails = false>
struct Guarded;
template <class R, class... A, R (*f)(A...), bool fails>
struct Guarded<f, fails> {
  static R call(A... a) {
    std::lock_guard<std::mutex> guard(gate);
    if (state.started) return f(a...);
    if constexpr (fails)
      return std::snprintf((a, ...), kMpiTextBytes, "MPI has been finalized already");
    else
      return R();
  }
};

void explain(int code, const char* doing, char* text) {
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, words, &length);
  std::snprintf(text, kMpiTextBytes, "%s: %s", doing, words);
}

int listen() {
  return MPI_Irecv(state.news_text, kMpiTextBytes, MPI_CHAR, MPI_ANY_SOURCE, kControlTag, state.control, &state.news);
}

int expect_beat() {
  return MPI_Irecv(&state.beat, 1, MPI_CHAR, MPI_ANY_SOURCE, kPulseTag, state.pulse_comm, &state.beats);
}

void say_beat(const char* word) {
  State& s = state;
  for (int r = 0; r < s.world.size; ++r) {
    MPI_Request& request = s.told[r];
    int done = 1;
    if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done && r != s.world.rank) MPI_Isend(word, 1, MPI_CHAR, r, kPulseTag, s.pulse_comm, &request);
  }
}

/// Beats when it is time to, and takes the beats that came.
void keep_alive() {
  State& s = state;
  const double now = MPI_Wtime();
  if (!s.pulse.on() || now < s.next_look) return;
  s.next_look = now + 0.01;
  if (s.pulse.due(now)) say_beat(&kAlive);
  MPI_Status from;
  for (int done = 0; s.beats != MPI_REQUEST_NULL; done = 0) {
    if (MPI_Test(&s.beats, &done, &from) != MPI_SUCCESS || !done) break;
    s.pulse.heard(from.MPI_SOURCE, now);
    if (s.beat == kLeaves) s.pulse.left(from.MPI_SOURCE);
    if (expect_beat() != MPI_SUCCESS) break;
  }
}

/// Whether a rank is lost; in words.
bool some_lost(char* text) {
  const double now = MPI_Wtime();
  const int rank = state.pulse.on() ? state.pulse.lost(now) : -1;
  if (rank < 0) return false;
  std::snprintf(
      text, kMpiTextBytes,
      "rank %d has not heard of rank %d for %.0f s: its host or the link to it is down, or its process is stopped "
      "(HEADWATER_LOST_AFTER=0 waits for ever)",
      state.world.rank, rank, state.pulse.limit());
  return true;
}

int start(MpiWorld* world, double lost_after, char* text) {
  std::lock_guard<std::mutex> guard(gate);
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
    for (MPI_Comm* c : {&s.channels[0], &s.channels[1], &s.control, &s.pulse_comm}) {
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
    s.pulse.start(s.world.rank, s.world.size, lost_after, MPI_Wtime());
    s.told.assign(static_cast<size_t>(s.world.size), MPI_REQUEST_NULL);
    if ((code = listen()) != MPI_SUCCESS || (code = expect_beat()) != MPI_SUCCESS)
      return explain(code, "MPI_Irecv", text), 1;
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
  State& s = state;
  int done = 0;
  keep_alive();
  if (!s.heard && s.news != MPI_REQUEST_NULL && MPI_Test(&s.news, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done)
    s.heard = true;
  if (s.heard) std::memcpy(text, s.news_text, kMpiTextBytes);
  return s.heard || some_lost(text);
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
  s.causes.emplace_back(text);
  s.causes.back().resize(kMpiTextBytes);
  for (int r = 0; r < s.world.size && !s.heard; ++r) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (r != s.world.rank &&
        MPI_Isend(s.causes.back().data(), kMpiTextBytes, MPI_CHAR, r, kControlTag, s.control, &request) == MPI_SUCCESS)
      s.causes_told.push_back(request);
  }
  drain(s.causes_told, 0.5);
  for (size_t i = 0; i < s.requests.size(); ++i)
    if (!s.slots[i].sends && s.requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&s.requests[i]);
  drain(s.requests, 0.2);
}

void leave() {
  State& s = state;
  if (!s.started || !s.pulse.on()) return;
  drain(s.told, 0.5);  // who has left says so, even if the last beat is still under way
  say_beat(&kLeaves);
  drain(s.told, 0.5);
}

/// Takes in a message that nobody waits for on one of the old communicators.
struct Leftover {
  std::vector<char> data;
  MPI_Request request = MPI_REQUEST_NULL;

  void take(MPI_Comm comm) {
    int done = 1, there = 0, bytes = 0;
    MPI_Status status;
    if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done || MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &status) != MPI_SUCCESS || !there) return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    data.resize(static_cast<size_t>(bytes));
    MPI_Irecv(data.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &request);
  }
};

/// What renew() waits for: one step after the other, while messages that came too late are taken in.
class Renewal {
 public:
  Renewal(double seconds) : until_(MPI_Wtime() + seconds) {
    old_ = {state.channels[0], state.channels[1], state.control};
  }

  /// Until all ranks are here and nothing of what was before is under way; else `text` says what is missing.
  bool run(char* text) {
    State& s = state;
    std::array<MPI_Comm, 3> fresh{};
    MPI_Request one = MPI_REQUEST_NULL;
    for (MPI_Comm& c : fresh)
      if (MPI_Comm_idup(MPI_COMM_WORLD, &c, &one) != MPI_SUCCESS || !wait(&one, 1, text)) return false;
    s.requests.insert(s.requests.end(), s.causes_told.begin(), s.causes_told.end());
    if (!wait(s.requests.data(), static_cast<int>(s.requests.size()), text)) return false;
    // What others sent before is taken in until they all say that theirs is done.
    if (MPI_Ibarrier(fresh[2], &one) != MPI_SUCCESS || !wait(&one, 1, text)) return false;
    if (s.news != MPI_REQUEST_NULL) {
      MPI_Cancel(&s.news);
      MPI_Wait(&s.news, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3; ++i) {
      if (left_[i].request != MPI_REQUEST_NULL) MPI_Wait(&left_[i].request, MPI_STATUS_IGNORE);
      MPI_Comm_free(&old_[i]);
      MPI_Comm_set_errhandler(fresh[i], MPI_ERRORS_RETURN);
    }
    s.channels[0] = fresh[0], s.channels[1] = fresh[1], s.control = fresh[2];
    return true;
  }

 private:
  bool wait(MPI_Request* requests, int count, char* text) {
    for (int done = 0;;) {
      int open = 0;
      for (int i = 0; i < count; ++i) {  // each by itself: how they end does not matter
        if (requests[i] != MPI_REQUEST_NULL) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        open += requests[i] != MPI_REQUEST_NULL;
      }
      if (!open) return true;
      for (int i = 0; i < 3; ++i) left_[i].take(old_[i]);
      keep_alive();
      if (some_lost(text)) return false;
      if (MPI_Wtime() > until_)
        return std::snprintf(text, kMpiTextBytes, "rank %d waited for the others to begin anew: not all ranks came",
                             state.world.rank) < 0;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  double until_;
  std::array<MPI_Comm, 3> old_;
  std::array<Leftover, 3> left_;
};

int renew(double seconds, char* text) {
  State& s = state;
  if (!Renewal(seconds).run(text)) return 1;
  s.requests.clear();
  s.slots.clear();
  s.ended.clear();
  s.causes_told.clear();
  s.causes.clear();
  s.heard = false;
  const int code = listen();
  return code == MPI_SUCCESS ? 0 : (explain(code, "MPI_Irecv", text), 1);
}

void finish() {
  std::lock_guard<std::mutex> guard(gate);
  State& s = state;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!s.started || finalized) return;
  s.started = false;
  for (MPI_Request* r : {&s.news, &s.beats})
    if (*r != MPI_REQUEST_NULL) {
      MPI_Cancel(r);
      MPI_Wait(r, MPI_STATUS_IGNORE);
    }
  for (MPI_Comm* c : {&s.channels[0], &s.channels[1], &s.control, &s.pulse_comm}) MPI_Comm_free(c);
  if (s.ours) MPI_Finalize();
}

}  // namespace
}  // namespace hw

extern "C" __attribute__((visibility("default"))) const hw::MpiTable* headwater_mpi_table() {
  using namespace hw;
  static const MpiTable table{kMpiTableVersion,           start,
                              Guarded<post, true>::call,  Guarded<poll>::call,
                              Guarded<heard_abort>::call, Guarded<keep_alive>::call,
                              Guarded<say_abort>::call,   Guarded<renew, true>::call,
                              Guarded<leave>::call,       finish};
  return &table;
}
