// Notes of machines, by name.
#include "infer/machine.h"

#include <charconv>

#include "base/processor.h"
#include "base/team_scope.h"
#include "base/text.h"
#include "kernels/isa.h"

namespace hw::infer {

std::string machine_name() {
  return text(processor_name(), ", ", isa_name(isa()), ", ", usable_cores().size(), " cores");
}

int fitted_threads(const FrozenModel& model) {
  constexpr std::string_view kStart = "fit ", kThreads = "threads=";
  constexpr int kMostThreads = 1024;
  std::string here;
  for (const auto& [key, value] : model.notes) {
    if (!key.starts_with(kStart)) continue;
    if (here.empty()) here = machine_name();
    if (std::string_view(key).substr(kStart.size()) != here || !value.starts_with(kThreads)) continue;
    int threads = 0;
    const char *first = value.data() + kThreads.size(), *last = value.data() + value.size();
    const auto [end, error] = std::from_chars(first, last, threads);
    return error == std::errc() && end == last && threads >= 1 && threads <= kMostThreads ? threads : 0;
  }
  return 0;
}

}  // namespace hw::infer
