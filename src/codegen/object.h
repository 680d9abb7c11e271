// Machine code from an object file, in memory where it can run.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hw {

class LoadedCode {
 public:
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  /// The function `name` of an ELF object for x86-64 that needs nothing from outside; null with the reason. The object may be damaged.
  static std::unique_ptr<LoadedCode> load(std::string_view object, std::string_view name, std::string& why_not);

  void* function() const { return function_; }

 private:
  LoadedCode(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
  void* memory_;
  size_t bytes_;
  void* function_ = nullptr;
};

}  // namespace hw
