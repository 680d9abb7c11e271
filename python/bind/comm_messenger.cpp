// Parcels as messages.
#include "bind/comm_messenger.h"

#include <nanobind/nanobind.h>

#include "base/error.h"
#include "bind/bind.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

class CommMessenger;
CommMessenger* g_current = nullptr;  // of this process, which has one world
int g_channel = -1;
constexpr int kMostChannels = 4096;

class CommMessenger final : public Messenger {
 public:
  explicit CommMessenger(Ref<Comm> comm) : comm_(std::move(comm)) { g_current = this; }
  ~CommMessenger() override {
    g_current = nullptr;
    forget();
  }

  void exchange(std::span<const Parcel> out, std::span<Parcel> in) override {
    const nb::gil_scoped_acquire lock;  // programs on streams run without it
    const int tag = g_channel < 0 ? kTag : kTag - 1 - g_channel;
    std::vector<Request> requests;
    for (const Parcel& p : in)
      for (const Parcel::Piece& piece : p.pieces)
        if (piece.bytes) requests.push_back(comm_->recv(piece.data, piece.bytes, p.process, tag));
    for (const Parcel& p : out)
      for (const Parcel::Piece& piece : p.pieces)
        if (piece.bytes) {
          Request r = comm_->send(piece.data, piece.bytes, p.process, tag);
          if (g_channel < 0 || !piece.owner.defined())
            requests.push_back(std::move(r));
          else
            sent_.push_back({std::move(r), piece.owner});
        }
    wait_for(requests);
    forget_sent();
  }

  Comm* comm() override { return comm_.get(); }

  void wait(std::span<const Request> requests) override {
    const nb::gil_scoped_acquire lock;
    wait_for(requests);
  }

  void finish() {
    std::vector<Request> requests;
    for (const Sent& s : sent_) requests.push_back(s.request);
    wait_for(requests);
    sent_.clear();
  }

  void forget() {
    for (Sent& s : sent_)  // after an error: the engine may still read them
      if (!s.request->done()) new Sent(std::move(s));
    sent_.clear();
  }

 private:
  struct Sent {
    Request request;
    Tensor piece;
  };
  static constexpr int kTag = Comm::kMaxTag;  // channels count down from here, users' messages up from 0

  void wait_for(std::span<const Request> requests) {
    try {
      for (const Request& r : requests) wait_one(*r.get());
    } catch (...) {  // the buffers must live until nothing is under way
      comm_->abort("an exchange of parts of global tensors was interrupted");
      nb::gil_scoped_release release;
      for (const Request& r : requests) r->wait();
      throw;
    }
    for (const Request& r : requests) throw_unless_ok(r->status());
  }

  void forget_sent() {
    for (const Sent& s : sent_)
      if (s.request->done()) throw_unless_ok(s.request->status());
    std::erase_if(sent_, [](const Sent& s) { return s.request->done(); });
  }

  static void wait_one(Operation& o) {
    while (!o.done()) {
      {
        nb::gil_scoped_release release;
        if (o.wait_for(0.1)) break;
      }
      if (PyErr_CheckSignals() != 0) throw PythonError{};
    }
  }

  Ref<Comm> comm_;
  std::vector<Sent> sent_;
};

}  // namespace

std::unique_ptr<Messenger> messenger_over(Ref<Comm> comm) { return std::make_unique<CommMessenger>(std::move(comm)); }

bool use_channel(int channel) {
  check(channel < kMostChannels, "channel ", channel, " is above the last, ", kMostChannels - 1);
  g_channel = g_current ? channel : -1;
  return g_current != nullptr;
}

void finish_sends() {
  if (g_current) g_current->finish();
}

void forget_sends() {
  g_channel = -1;
  if (g_current) g_current->forget();
}

}  // namespace hw::bind
