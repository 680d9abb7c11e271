// Parcels as messages.
#include "bind/comm_messenger.h"

#include <nanobind/nanobind.h>

#include "bind/bind.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

class CommMessenger final : public Messenger {
 public:
  explicit CommMessenger(Ref<Comm> comm) : comm_(std::move(comm)) {}

  void exchange(std::span<const Parcel> out, std::span<Parcel> in) override {
    std::vector<Request> requests;
    for (const Parcel& p : in)
      for (const Tensor& t : p.pieces)
        if (t.nbytes()) requests.push_back(comm_->recv(t.data(), t.nbytes(), p.process, kTag));
    for (const Parcel& p : out)
      for (const Tensor& t : p.pieces)
        if (t.nbytes()) requests.push_back(comm_->send(t.data(), t.nbytes(), p.process, kTag));
    try {
      for (const Request& r : requests) wait(*r.get());
    } catch (...) {  // the buffers must live until nothing is under way
      comm_->abort("an exchange of parts of global tensors was interrupted");
      nb::gil_scoped_release release;
      for (const Request& r : requests) r->wait();
      throw;
    }
    for (const Request& r : requests) throw_unless_ok(r->status());
  }

 private:
  static constexpr int kTag = Comm::kMaxTag;  // the last one; users' messages count from 0

  static void wait(Operation& o) {
    while (!o.done()) {
      {
        nb::gil_scoped_release release;
        if (o.wait_for(0.1)) break;
      }
      if (PyErr_CheckSignals() != 0) throw PythonError{};
    }
  }

  Ref<Comm> comm_;
};

}  // namespace

std::unique_ptr<Messenger> messenger_over(Ref<Comm> comm) { return std::make_unique<CommMessenger>(std::move(comm)); }

}  // namespace hw::bind
