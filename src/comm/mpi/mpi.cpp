// Loads the library with the MPI calls, and makes a transport of its table.
#include "comm/mpi/mpi.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>

#include "base/flags.h"
#include "base/text.h"
#include "comm/engine.h"

namespace hw {

namespace {

constexpr int kPollCapacity = 64;

class MpiTransport final : public Transport {
 public:
  MpiTransport(const MpiTable& table, const MpiWorld& world) : table_(table), world_(world) {}

  int rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  int max_tag() const override { return world_.max_tag; }
  bool must_be_polled() const override { return true; }
  void on_news(void (*)(void*), void*) override {}

  void post(const Message& m) override {
    if (table_.post(m.id, static_cast<int>(m.channel), m.sends, m.data, m.bytes, m.peer, m.tag, text_))
      refused_.push_back({m.id, {Status::Code::Failed, text_}});
  }

  void poll(std::vector<Delivered>& out) override {
    out.insert(out.end(), refused_.begin(), refused_.end());
    refused_.clear();
    uint64_t ids[kPollCapacity];
    int failed[kPollCapacity];
    int n = table_.poll(ids, failed, kPollCapacity, text_);
    for (int i = 0; i < n; ++i) out.push_back({ids[i], failed[i] ? Status{Status::Code::Mismatch, text_} : Status{}});
    // Asked seldom while messages flow: a request more to test in each poll would be felt.
    if ((n == 0 || ++polls_ % 64 == 0) && table_.heard_abort(text_)) keep(text_);
  }

  void abort(const std::string& cause) override {
    keep(cause);
    std::snprintf(text_, sizeof text_, "%s", cause.c_str());
    table_.say_abort(text_);
  }

  ~MpiTransport() override { table_.leave(); }

  void keep_alive() override { table_.keep_alive(); }

  Status renew(double seconds) override {
    if (table_.renew(seconds, text_)) return {Status::Code::Failed, text_};
    refused_.clear();
    std::lock_guard<std::mutex> guard(mutex_);
    cause_ = {};
    return {};
  }

  Status aborted() const override {
    std::lock_guard<std::mutex> guard(mutex_);
    return cause_;
  }

 private:
  void keep(const std::string& cause) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (cause_.ok()) cause_ = {Status::Code::Aborted, cause};
  }

  const MpiTable& table_;
  MpiWorld world_;
  std::vector<Delivered> refused_;
  char text_[kMpiTextBytes] = {};
  unsigned polls_ = 0;
  mutable std::mutex mutex_;
  Status cause_;  // under mutex_
};

MpiComm unavailable(std::string why) {
  MpiComm out;
  out.status = {Status::Code::Unavailable,
                text(why,
                     ". Ranks in several processes need MPI: pip install 'headwater[distributed]', or the system's "
                     "Open MPI or MPICH and a build that finds it (scripts/setup.sh, scripts/build.sh)")};
  return out;
}

}  // namespace

/// A rank that is not heard of for so many seconds is lost. Shorter ones than this would blame busy machines.
static double lost_after() {
  const int64_t seconds = flag_int("HEADWATER_LOST_AFTER", 6);
  return seconds <= 0 ? 0 : static_cast<double>(std::max<int64_t>(seconds, 2));
}

int launched_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "HEADWATER_LAUNCHED_SIZE"})
    if (int64_t size = flag_int(name, 0); size > 0) return static_cast<int>(size);
  return 0;
}

MpiComm open_mpi(const std::string& plugin) {
  // Global: Open MPI before version 5 opens parts of itself that look for its symbols. The library stays open: MPI's threads
  // and exit handlers live in it.
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* why = dlerror();
    return unavailable(text("cannot open ", plugin, ": ", why ? why : "no reason given"));
  }
  auto get = reinterpret_cast<const MpiTable* (*)()>(dlsym(library, kMpiTableSymbol));
  const MpiTable* table = get ? get() : nullptr;
  if (!table || table->version != kMpiTableVersion)
    return unavailable(text(plugin, " is of another build of Headwater"));
  char words[kMpiTextBytes] = {};
  MpiComm out;
  if (table->start(&out.world, lost_after(), words)) return unavailable(words);
  if (int launched = launched_size(); launched > 1 && out.world.size != launched) {
    out.status = {
        Status::Code::Unavailable,
        text("the launcher started ", launched, " ranks, but this MPI sees ", out.world.size,
             ": mpirun and the MPI library that Headwater uses are of different installations. Use `headwater launch`, "
             "or the mpirun beside the library")};
    return out;
  }
  out.comm = make_ref<Engine>(std::make_unique<MpiTransport>(*table, out.world));
  out.finish = table->finish;
  return out;
}

}  // namespace hw
