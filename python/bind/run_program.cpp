// Running a program from Python: alone on its workspace, and on the threads of streams without the interpreter's lock.
#include <optional>

#include "bind/program.h"

namespace nb = nanobind;

namespace hw::bind {

thread_local bool t_without_lock = false;

Tensors run_program(Program& program, std::span<const Tensor> inputs, std::span<const double> host) {
  struct Turn {
    explicit Turn(Workspace& w) : workspace(w) {
      if (w.try_lock()) return;
      const nb::gil_scoped_release released;  // whoever is at it may need the interpreter to let go of an array
      w.lock();
    }
    ~Turn() { workspace.unlock(); }
    Workspace& workspace;
  };
  const Turn turn(program.workspace());
  // Random numbers come from a generator that all threads share: the lock keeps their order.
  std::optional<nb::gil_scoped_release> released;
  if (t_without_lock && program.plan().num_draws == 0) released.emplace();
  return program.run(inputs, host);
}

}  // namespace hw::bind
