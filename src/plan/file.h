// Plans in files. A file is a header, the structure (plan.fbs) and the data of constants, 64-byte aligned; numbers are little-endian.
// What is read is checked to the last index, so that a damaged or hostile file is an error and nothing else.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace hw {

/// What follows the plan's own version: the container, checked before anything else is looked at.
inline constexpr size_t kPlanAlignment = 64;

std::string write_plan(const Plan& plan);
/// Constants are views of `file`, which must be 64-byte aligned. Throws Error{Value} that says what is wrong.
Plan read_plan(const Ref<Storage>& file);
Plan read_plan(const Ref<Storage>& memory, size_t offset,
               size_t bytes);           // of a file inside another; offset: a multiple of 64
Plan read_plan(std::string_view file);  // of a copy

void save_plan(const Plan& plan, const std::string& path);
Plan load_plan(const std::string& path);

/// Writes the file's hash anew: for tests, which change bytes to see what is behind the hash.
void seal_plan(std::string& file);

}  // namespace hw
