// What the topics on compiled functions share.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "compiler/program/program.h"

namespace hw::bind {

struct PyProgram {
  std::shared_ptr<Program> program;
};

/// What a finished capture found.
struct PyParts {
  ProgramParts parts;
};

nanobind::object list_of(const Tensors& tensors);
Tensors tensor_list(nanobind::handle list);
/// What a program depends on of its tensor arguments and of the thread's modes.
void append_call_key(std::vector<int64_t>& key, const Tensors& tensors, bool sized);

/// Whether programs that this thread starts run without the interpreter's lock: on the threads of streams.
extern thread_local bool t_without_lock;
/// Runs a program, alone on its workspace.
Tensors run_program(Program& program, std::span<const Tensor> inputs, std::span<const double> host);

void bind_guards(nanobind::module_& m);
void bind_dispatch(nanobind::module_& m);
void bind_frozen(nanobind::module_& m);

}  // namespace hw::bind
