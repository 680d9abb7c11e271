// Where several ways lead to the same result: which is taken, by rule, by formula or by measurement.
#pragma once

#include "kernels/kernel.h"

namespace hw {

/// Off: the first way, whatever the sizes. Heuristic: by the formulas of those who offer the ways. Measure: the ways are timed on this
/// machine, once, and the choice is kept on disk. Starts as HEADWATER_TUNING says ("off", "heuristic", "measure"), else Heuristic.
enum class Tuning : uint8_t { Off, Heuristic, Measure };
Tuning tuning();
void set_tuning(Tuning mode);
std::string_view tuning_name(Tuning mode);
Tuning parse_tuning(std::string_view name);  // throws Error{Value}

/// The way that takes least time: measured, or as it was when it was measured earlier, by this build on such a processor with this
/// instruction set and number of threads. The first one stays unless another is faster by more than the noise of a measurement.
size_t fastest_way(std::span<const KernelRequest> ways);

/// As prepare_kernel, but when tuning() is Measure the fastest of the candidates that accept.
std::unique_ptr<Kernel> prepare_fastest(const KernelRequest& request, DeviceType device, std::string* chosen = nullptr);

/// What was chosen, by measurement of this process or from disk.
struct TuningChoice {
  std::string ways;                // "_conv2d_packed(...) | _conv2d_winograd(...)"
  std::vector<std::string> names;  // of the ways
  std::vector<double> seconds;     // of one run of each
  size_t chosen = 0;
  bool from_disk = false;
};
std::vector<TuningChoice> tuning_choices();  // of this process
std::string tuning_folder();                 // empty: nothing is kept
void clear_tuning();                         // forgets all, also on disk

}  // namespace hw
