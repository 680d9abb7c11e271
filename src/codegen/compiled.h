// Compiled kernels, by their text: made once in a process, and kept on disk for the next one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hw {

/// operands: inputs, then outputs; steps: bytes from row to row of each; n: elements of a row, a multiple of the lanes.
using RowsFunction = void (*)(char* const* operands, const int64_t* steps, int64_t rows, int64_t n);

/// The function of a module that write_code wrote, for the instruction set in use. Null with the reason.
RowsFunction compiled_rows(const std::string& code, std::string& why_not);

/// Compiles what is not there yet, on the team.
void compile_all(std::span<const std::string> codes);

/// Elements of f32 in a vector of the instruction set in use, or 0 with the reason why there is no code for it.
int code_lanes(std::string& why_not);

struct CodeStats {
  int64_t compiled = 0, from_disk = 0, failed = 0;  // in this process
  double seconds = 0;                               // spent compiling, all threads together
  std::string missing;                              // why kernels were wanted and could not be made; empty: none
};
CodeStats code_stats();

}  // namespace hw
