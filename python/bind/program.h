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

void bind_guards(nanobind::module_& m);
void bind_dispatch(nanobind::module_& m);
void bind_frozen(nanobind::module_& m);

}  // namespace hw::bind
