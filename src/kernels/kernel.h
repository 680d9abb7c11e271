// The treaty between machines and the rest: a kernel is prepared once for given specs, then run on buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/attr.h"
#include "core/spec.h"

namespace hw {

/// All that decides which kernel runs and how. Strides of all specs are set.
struct KernelRequest {
  std::string_view op;
  std::span<const TensorSpec> inputs;   // variadic inputs are flattened; optional ones not given have dtype None
  std::span<const TensorSpec> outputs;  // several when the op has several
  const Attrs& attrs;
  DType compute = DType::None;  // the promoted dtype of the inputs, where the op promotes
};

/// Where a kernel reports what only the data can show, such as an index out of range.
struct LaunchStatus {
  bool failed = false;
  char message[192] = {};
  void report(const char* format, ...) __attribute__((format(printf, 2, 3)));  // the first report is kept
};

struct KernelArgs {
  const void* const* inputs;  // first element of each input; nullptr for one not given
  void* const* outputs;
  void* scratch;       // scratch_bytes(), 64-byte aligned
  const Attrs* attrs;  // for attributes declared dynamic (seeds, counters); others are fixed at prepare
  LaunchStatus* status;
};

/// Immutable once prepared: run() may be called from several threads. It allocates nothing, locks nothing, throws nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual size_t scratch_bytes() const { return 0; }
  virtual void run(const KernelArgs& args) const = 0;
};

/// Returns the kernel, or null with the reason in `why_not` ("needs contiguous rows").
using PrepareFn = std::unique_ptr<Kernel> (*)(const KernelRequest& request, std::string& why_not);

/// One candidate for an op. Higher priority is asked first; the reference kernel has priority 0.
struct KernelEntry {
  std::string_view op;
  std::string_view name;  // "simd", "onednn", "reference"
  DeviceType device;
  int priority;
  PrepareFn prepare;
};

/// Registers an entry at load time: `static const RegisterKernel r({"softmax", "simd", DeviceType::CPU, 10, &prepare});`
struct RegisterKernel {
  explicit RegisterKernel(KernelEntry entry);
};

constexpr int kReferencePriority = 0;

/// The candidates for an op on a device, best first.
std::vector<KernelEntry> kernel_candidates(std::string_view op, DeviceType device);

/// The first candidate that accepts. Throws Error{NotImplemented} listing each candidate's reason.
/// Candidates whose name is in HEADWATER_KERNELS_OFF (comma-separated), or set by set_kernels_off, are passed over.
std::unique_ptr<Kernel> prepare_kernel(const KernelRequest& request, DeviceType device, std::string* chosen = nullptr);
void set_kernels_off(std::string names);  // empty: all on
const std::string& kernels_off();

}  // namespace hw
