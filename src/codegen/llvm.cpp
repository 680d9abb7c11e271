// LLVM through its C interface, which is stable: the library is opened by name, and the functions used are declared here.
#include "codegen/llvm.h"

#include <dlfcn.h>

#include <initializer_list>

#include "base/flags.h"
#include "base/text.h"

namespace hw {

namespace {

using Handle = void*;

/// Members are named as LLVM's functions without "LLVM".
struct Library {
  Handle (*ContextCreate)();
  void (*ContextDispose)(Handle);
  void (*ContextSetDiagnosticHandler)(Handle, void (*)(Handle, void*), void*);
  Handle (*CreateMemoryBufferWithMemoryRangeCopy)(const char*, size_t, const char*);
  int (*ParseIRInContext)(Handle context, Handle buffer, Handle* module, char** message);
  void (*DisposeModule)(Handle);
  void (*DisposeMessage)(char*);
  int (*GetTargetFromTriple)(const char*, Handle* target, char** message);
  Handle (*CreateTargetMachine)(Handle target, const char* triple, const char* cpu, const char* features, int level,
                                int relocation, int code_model);
  void (*DisposeTargetMachine)(Handle);
  Handle (*CreateTargetDataLayout)(Handle machine);
  void (*DisposeTargetData)(Handle);
  void (*SetTarget)(Handle module, const char* triple);
  void (*SetModuleDataLayout)(Handle module, Handle layout);
  int (*TargetMachineEmitToMemoryBuffer)(Handle machine, Handle module, int kind, char** message, Handle* buffer);
  const char* (*GetBufferStart)(Handle);
  size_t (*GetBufferSize)(Handle);
  void (*DisposeMemoryBuffer)(Handle);
};

constexpr char kTriple[] = "x86_64-pc-linux-gnu";
constexpr int kLevelDefault = 2, kPositionIndependent = 2, kSmallModel = 3, kObjectFile = 1;

/// The library, or null with the reason.
struct Opened {
  Library library{};
  std::string why_not;
  bool ready = false;
  Opened();

 private:
  bool fill(void* file);
  template <class F>
  bool find(void* file, const char* name, F& function) {
    void* found = dlsym(file, name);
    if (!found) why_not = text("LLVM has no function ", name);
    function = reinterpret_cast<F>(found);
    return found != nullptr;
  }
};

bool Opened::fill(void* file) {
  Library& l = library;
  for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
    void (*initialize)();
    if (!find(file, text("LLVMInitializeX86", part).c_str(), initialize)) return false;
    initialize();
  }
  return find(file, "LLVMContextCreate", l.ContextCreate) && find(file, "LLVMContextDispose", l.ContextDispose) &&
         find(file, "LLVMContextSetDiagnosticHandler", l.ContextSetDiagnosticHandler) &&
         find(file, "LLVMCreateMemoryBufferWithMemoryRangeCopy", l.CreateMemoryBufferWithMemoryRangeCopy) &&
         find(file, "LLVMParseIRInContext", l.ParseIRInContext) && find(file, "LLVMDisposeModule", l.DisposeModule) &&
         find(file, "LLVMDisposeMessage", l.DisposeMessage) &&
         find(file, "LLVMGetTargetFromTriple", l.GetTargetFromTriple) &&
         find(file, "LLVMCreateTargetMachine", l.CreateTargetMachine) &&
         find(file, "LLVMDisposeTargetMachine", l.DisposeTargetMachine) &&
         find(file, "LLVMCreateTargetDataLayout", l.CreateTargetDataLayout) &&
         find(file, "LLVMDisposeTargetData", l.DisposeTargetData) && find(file, "LLVMSetTarget", l.SetTarget) &&
         find(file, "LLVMSetModuleDataLayout", l.SetModuleDataLayout) &&
         find(file, "LLVMTargetMachineEmitToMemoryBuffer", l.TargetMachineEmitToMemoryBuffer) &&
         find(file, "LLVMGetBufferStart", l.GetBufferStart) && find(file, "LLVMGetBufferSize", l.GetBufferSize) &&
         find(file, "LLVMDisposeMemoryBuffer", l.DisposeMemoryBuffer);
}

Opened::Opened() {
  // The language of 19 and later; HEADWATER_LLVM names another file.
  const std::string named = flag_text("HEADWATER_LLVM", "");
  void* file = nullptr;
  if (!named.empty()) {
    file = dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* name : {"libLLVM.so.19.1", "libLLVM.so.20.1", "libLLVM.so.21.1", "libLLVM-19.so", "libLLVM-20.so"})
      if (!file) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!file) {
    why_not = named.empty() ? std::string("LLVM 19 or later is not installed (Debian's package libllvm19)")
                            : text("HEADWATER_LLVM=", named, " cannot be opened");
    return;
  }
  ready = fill(file);
}

const Opened& opened() {
  static const Opened once;
  return once;
}

/// One compilation: what it makes is freed with it.
class Compilation {
 public:
  explicit Compilation(const Library& l) : l_(l), context_(l.ContextCreate()) {
    l.ContextSetDiagnosticHandler(
        context_, [](Handle, void*) {}, nullptr);  // else it ends the process
  }
  ~Compilation() {
    if (object_) l_.DisposeMemoryBuffer(object_);
    if (layout_) l_.DisposeTargetData(layout_);
    if (machine_) l_.DisposeTargetMachine(machine_);
    if (module_) l_.DisposeModule(module_);
    if (message_) l_.DisposeMessage(message_);
    l_.ContextDispose(context_);
  }
  Compilation(const Compilation&) = delete;

  std::string run(const std::string& code, const char* cpu, const char* features, std::string& why_not) {
    if (!parse(code) || !target(cpu, features) ||
        l_.TargetMachineEmitToMemoryBuffer(machine_, module_, kObjectFile, &message_, &object_) != 0) {
      why_not = text("LLVM: ", message_ ? message_ : "no message");
      return {};
    }
    return {l_.GetBufferStart(object_), l_.GetBufferSize(object_)};
  }

 private:
  bool parse(const std::string& code) {
    Handle buffer = l_.CreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "headwater");
    return l_.ParseIRInContext(context_, buffer, &module_, &message_) == 0;  // takes the buffer
  }
  bool target(const char* cpu, const char* features) {
    Handle target = nullptr;
    if (l_.GetTargetFromTriple(kTriple, &target, &message_) != 0) return false;
    machine_ = l_.CreateTargetMachine(target, kTriple, cpu, features, kLevelDefault, kPositionIndependent, kSmallModel);
    if (!machine_) return false;
    layout_ = l_.CreateTargetDataLayout(machine_);
    l_.SetTarget(module_, kTriple);
    l_.SetModuleDataLayout(module_, layout_);
    return true;
  }

  const Library& l_;
  Handle context_, module_ = nullptr, machine_ = nullptr, layout_ = nullptr, object_ = nullptr;
  char* message_ = nullptr;
};

}  // namespace

bool has_llvm(std::string& why_not) {
  why_not = opened().why_not;
  return opened().ready;
}

std::string compile_with_llvm(const std::string& code, const char* cpu, const char* features, std::string& why_not) {
  if (!has_llvm(why_not)) return {};
  return Compilation(opened().library).run(code, cpu, features, why_not);
}

}  // namespace hw
