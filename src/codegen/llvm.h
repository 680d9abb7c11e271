// LLVM, opened when first needed: nothing links it.
#pragma once

#include <string>

namespace hw {

/// The object file of a module in LLVM's language, for a CPU and features as LLVM names them. Empty with the reason, also where there is
/// no LLVM. May be called from several threads.
std::string compile_with_llvm(const std::string& code, const char* cpu, const char* features, std::string& why_not);

/// Whether the library is there. Opens it.
bool has_llvm(std::string& why_not);

}  // namespace hw
