// Ranks and what they say to each other, for headwater.distributed.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "base/hash.h"
#include "bind/bind.h"
#include "bind/comm_messenger.h"
#include "comm/bucket.h"
#include "comm/inproc/inproc.h"
#include "comm/mpi/mpi.h"
#include "core/read_guard.h"

namespace nb = nanobind;

namespace hw::bind {

namespace {

struct PyComm {
  Ref<Comm> value;
  Ref<BucketMemory> memory = make_ref<BucketMemory>();
};

/// Something under way, with all that it needs: it is done with the tensors before they go.
struct PyRequest {
  Request operation;
  Ref<Comm> comm;
  Ref<Bucket> bucket;
  std::vector<Tensor> tensors;  // kept
  std::vector<Tensor> written;
  bool settled = false;

  PyRequest() = default;
  PyRequest(PyRequest&&) = default;
  PyRequest& operator=(PyRequest&&) = default;
  PyRequest(const PyRequest&) = delete;
  PyRequest& operator=(const PyRequest&) = delete;
  /// A request that nobody waited for keeps its tensors until it is done: the engine writes into them.
  ~PyRequest() {
    std::vector<Request> open = bucket ? bucket->requests() : std::vector<Request>{operation};
    std::erase_if(open, [](const Request& r) { return !r || r->done(); });
    if (open.empty()) return;
    auto* kept = new Kept{std::move(bucket), std::move(tensors), std::move(written), static_cast<int>(open.size())};
    for (const Request& r : open) r->when_done(&Kept::one_done, kept);
  }

  bool wait_for(double seconds) { return bucket ? bucket->wait_for(seconds) : operation->wait_for(seconds); }
  void expire() {
    if (bucket)
      bucket->expire();
    else
      operation->wait(0);
  }
  void settle() {
    if (settled) return;
    throw_unless_ok(bucket ? bucket->status() : operation->status());
    settled = true;
    for (const Tensor& t : written) t->storage->bump_version();
  }

 private:
  struct Kept {
    Ref<Bucket> bucket;
    std::vector<Tensor> tensors, written;
    std::atomic<int> open;

    static void one_done(void* context) {
      auto* kept = static_cast<Kept*>(context);
      if (kept->open.fetch_sub(1) > 1) return;
      nb::gil_scoped_acquire gil;  // tensors may have Python wrappers
      delete kept;
    }
  };
};

void* data_of(const Tensor& t, const char* what) {
  check(t.contiguous(), what, " must be contiguous, got ", t, " with other strides: call contiguous()");
  return address_for(t, what);
}

Reduce reduce_from(const std::string& name) {
  constexpr const char* names[] = {"sum", "max", "min", "product", "avg"};
  for (int k = 0; k < 5; ++k)
    if (name == names[k]) return static_cast<Reduce>(k);
  fail(ErrorKind::Value, "there is no reduction '", name, "': sum, max, min, product or avg");
}

PyRequest request(PyComm& c, Request operation, std::vector<Tensor> kept, std::vector<Tensor> written) {
  PyRequest out;
  out.operation = std::move(operation);
  out.comm = c.value;
  out.tensors = std::move(kept);
  out.written = std::move(written);
  return out;
}

/// Waits with the GIL released, in slices, so that Ctrl-C is heard.
bool wait_request(PyRequest& r, double timeout, bool expire) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  for (bool done = false; !done;) {
    double left = timeout - std::chrono::duration<double>(Clock::now() - begin).count();
    {
      nb::gil_scoped_release release;
      done = r.wait_for(std::clamp(left, 0.0, 0.1));
      if (!done && left <= 0 && expire) {
        r.expire();
        done = true;
      }
    }
    if (!done && left <= 0) return false;
    if (!done && PyErr_CheckSignals() != 0) throw PythonError{};
  }
  r.settle();
  return true;
}

using Ints = std::vector<int>;
using Sizes = std::vector<int64_t>;

std::vector<size_t> bytes_of_counts(const Sizes& counts, DType dtype) {
  std::vector<size_t> out;
  for (int64_t n : counts) out.push_back(static_cast<size_t>(n * dtype_size(dtype)));
  return out;
}

void check_total(const Sizes& counts, const Tensor& t, const char* what) {
  int64_t total = 0;
  for (int64_t n : counts) {
    check(n >= 0, what, " has a negative part: ", n);
    total += n;
  }
  check(total == t.numel(), what, " has ", t.numel(), " elements, its parts have ", total);
}

void check_same_dtype(const Tensor& in, const Tensor& out) {
  check(in.dtype() == out.dtype(), "input and output differ in dtype: ", in, " and ", out);
}

PyRequest send(PyComm& c, nb::handle tensor, int peer, int tag) {
  const Tensor& t = tensor_argument(tensor.ptr(), "send");
  return request(c, c.value->send(data_of(t, "tensor"), t.nbytes(), peer, tag), {t}, {});
}
PyRequest recv(PyComm& c, nb::handle tensor, int peer, int tag) {
  const Tensor& t = tensor_argument(tensor.ptr(), "recv");
  return request(c, c.value->recv(data_of(t, "tensor"), t.nbytes(), peer, tag), {}, {t});
}

PyRequest all_reduce(PyComm& c, nb::handle tensor, const std::string& op, const Ints& group) {
  const Tensor& t = tensor_argument(tensor.ptr(), "all_reduce");
  void* data = data_of(t, "tensor");
  return request(c, c.value->all_reduce(data, data, t.numel(), t.dtype(), reduce_from(op), group), {}, {t});
}

/// Tensors of one dtype as one message; `wire` None or the dtype to send.
PyRequest all_reduce_many(PyComm& c, nb::list list, const std::string& op, nb::object wire, const Ints& group,
                          bool at_once) {
  std::vector<Tensor> tensors;
  std::vector<Bucket::Piece> pieces;
  for (nb::handle item : list) {
    const Tensor& t = tensor_argument(item.ptr(), "all_reduce_coalesced");
    check(tensors.empty() || t.dtype() == tensors[0].dtype(), "a bucket holds tensors of one dtype, got ", tensors[0],
          " and ", t);
    pieces.push_back({data_of(t, "each tensor"), t.numel()});
    tensors.push_back(t);
  }
  check(!tensors.empty(), "all_reduce_coalesced needs at least one tensor");
  DType sent = wire.is_none() ? DType::None : dtype_from(wire.ptr());
  auto bucket = make_ref<Bucket>(*c.value, c.memory, std::move(pieces), tensors[0].dtype(), reduce_from(op), sent,
                                 group, at_once);
  PyRequest out = request(c, {}, {}, std::move(tensors));
  out.bucket = std::move(bucket);
  return out;
}

PyRequest all_gather(PyComm& c, nb::handle input, nb::handle output, const Sizes& counts, const Ints& group) {
  const Tensor &in = tensor_argument(input.ptr(), "all_gather"), &out = tensor_argument(output.ptr(), "all_gather");
  check_same_dtype(in, out);
  check_total(counts, out, "output");
  const void* from = data_of(in, "input");
  void* to = data_of(out, "output");
  return request(c, c.value->all_gather(from, to, bytes_of_counts(counts, in.dtype()), group), {in}, {out});
}

PyRequest reduce_scatter(PyComm& c, nb::handle input, nb::handle output, const Sizes& counts, const std::string& op,
                         const Ints& group) {
  const Tensor &in = tensor_argument(input.ptr(), "reduce_scatter"),
               &out = tensor_argument(output.ptr(), "reduce_scatter");
  check_same_dtype(in, out);
  check_total(counts, in, "input");
  const void* from = data_of(in, "input");
  void* to = data_of(out, "output");
  return request(c, c.value->reduce_scatter(from, to, counts, in.dtype(), reduce_from(op), group), {in}, {out});
}

PyRequest all_to_all(PyComm& c, nb::handle input, nb::handle output, const Sizes& sent, const Sizes& received,
                     const Ints& group) {
  const Tensor &in = tensor_argument(input.ptr(), "all_to_all"), &out = tensor_argument(output.ptr(), "all_to_all");
  check_same_dtype(in, out);
  check_total(sent, in, "input");
  check_total(received, out, "output");
  const void* from = data_of(in, "input");
  void* to = data_of(out, "output");
  std::vector<size_t> send_sizes = bytes_of_counts(sent, in.dtype()),
                      recv_sizes = bytes_of_counts(received, in.dtype());
  return request(c, c.value->all_to_all(from, send_sizes, to, recv_sizes, group), {in}, {out});
}

PyRequest broadcast(PyComm& c, nb::handle tensor, int root, const Ints& group) {
  const Tensor& t = tensor_argument(tensor.ptr(), "broadcast");
  return request(c, c.value->broadcast(data_of(t, "tensor"), t.nbytes(), root, group), {}, {t});
}

void (*finish_mpi)() = nullptr;

nb::object open_mpi_comm(const std::string& plugin) {
  MpiComm opened = open_mpi(plugin);
  throw_unless_ok(opened.status);
  finish_mpi = opened.finish;
  return nb::make_tuple(nb::cast(PyComm{opened.comm}), opened.world.local_rank, opened.world.local_size);
}

void renew(PyComm& c, double seconds) {
  Status how;
  {
    nb::gil_scoped_release release;
    how = c.value->renew(seconds);
  }
  forget_sends();
  throw_unless_ok(how);
}

std::string hash_tensor(nb::handle tensor) {
  Tensor t = tensor_argument(tensor.ptr(), "hash_tensor");
  const void* data = data_of(t, "tensor");
  nb::gil_scoped_release release;
  return hex(hash128(data, t.nbytes()));
}

}  // namespace

void bind_distributed(nb::module_& m) {
  m.def("use_channel", &use_channel, "Pieces go over a channel of their own and are not waited for; -1 ends it.");
  m.def("finish_sends", &finish_sends);
  nb::class_<PyRequest>(m, "Request")
      .def(
          "wait", [](PyRequest& r, double timeout) { return wait_request(r, timeout, true); },
          nb::arg("timeout") = 1800.0)
      .def("wait_for", [](PyRequest& r, double seconds) { return wait_request(r, seconds, false); })
      .def("is_completed", [](PyRequest& r) {
        if (!r.wait_for(0)) return false;
        r.settle();
        return true;
      });
  nb::class_<PyComm>(m, "Comm")
      .def_prop_ro("rank", [](PyComm& c) { return c.value->rank(); })
      .def_prop_ro("size", [](PyComm& c) { return c.value->size(); })
      .def("send", &send)
      .def("recv", &recv)
      .def("all_reduce", &all_reduce)
      .def("all_reduce_many", &all_reduce_many, nb::arg("tensors"), nb::arg("op"), nb::arg("wire").none(),
           nb::arg("group"), nb::arg("at_once"))
      .def("all_gather", &all_gather)
      .def("reduce_scatter", &reduce_scatter)
      .def("all_to_all", &all_to_all)
      .def("broadcast", &broadcast)
      .def("barrier", [](PyComm& c, const Ints& group) { return request(c, c.value->barrier(group), {}, {}); })
      .def("abort",
           [](PyComm& c, const std::string& cause) {
             nb::gil_scoped_release release;
             c.value->abort(cause);
           })
      .def("renew", &renew)
      .def(
          "status", [](PyComm& c) { return c.value->status().message; }, "Empty, or why nothing can be sent any more.");
  m.def(
      "inproc_comms",
      [](int size) {
        nb::list out;
        for (Ref<Comm>& c : make_inproc(size)) out.append(nb::cast(PyComm{std::move(c)}));
        return out;
      },
      "One Comm for each of so many ranks of this process.");
  m.def("open_mpi", &open_mpi_comm,
        "The Comm of this process in an MPI launcher's world, its rank and their number on this host.");
  m.def("finish_mpi", [] {
    if (finish_mpi) finish_mpi();
    finish_mpi = nullptr;
  });
  m.def("hash_tensor", &hash_tensor, "32 hexadecimal digits that stand for the bytes of a contiguous tensor.");
  m.def("join_world_over", [](PyComm& c) {
    join_world(c.value->rank(), c.value->size(), 0, messenger_over(c.value));
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { world().messenger.reset(); }));
  });
  m.def("launched_size", &launched_size, "The number of ranks that a launcher started, 0 without one.");
}

}  // namespace hw::bind
