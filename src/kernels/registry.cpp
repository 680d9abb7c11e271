// The registry of kernels: candidates by op, best first, and the choice among them.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <unordered_map>

#include "base/error.h"
#include "base/flags.h"
#include "kernels/accepted.h"
#include "kernels/kernel.h"

namespace hw {

using Candidates = std::unordered_map<std::string_view, std::vector<KernelEntry>>;

// Local to a function, because units register before main in an order nobody decides.
static Candidates& registry() {
  static Candidates candidates;
  return candidates;
}

RegisterKernel::RegisterKernel(KernelEntry entry) {
  std::vector<KernelEntry>& entries = registry()[entry.op];
  // Equal priorities are ordered by name, so that the choice does not depend on the order of loading.
  auto before = [&](const KernelEntry& e) {
    return e.priority != entry.priority ? e.priority < entry.priority : e.name > entry.name;
  };
  entries.insert(std::find_if(entries.begin(), entries.end(), before), entry);
}

std::vector<KernelEntry> kernel_candidates(std::string_view op, DeviceType device) {
  std::vector<KernelEntry> found;
  if (auto it = registry().find(op); it != registry().end())
    for (const KernelEntry& e : it->second)
      if (e.device == device) found.push_back(e);
  return found;
}

static std::string& off_list() {
  static std::string names = flag_text("HEADWATER_KERNELS_OFF", "");
  return names;
}

void set_kernels_off(std::string names) { off_list() = std::move(names); }
const std::string& kernels_off() { return off_list(); }

static bool is_off(std::string_view name) {
  std::string_view list = off_list();
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

static std::string request_text(const KernelRequest& request) {
  std::string out(request.op);
  out += '(';
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (i) out += ", ";
    if (request.inputs[i].given())
      append_text(out, request.inputs[i]);
    else
      out += "None";
  }
  out += ')';
  return out;
}

std::unique_ptr<Kernel> prepare_kernel(const KernelRequest& request, DeviceType device, std::string* chosen) {
  std::string reasons;
  auto it = registry().find(request.op);
  if (it != registry().end()) {
    for (const KernelEntry& e : it->second) {
      if (e.device != device) continue;
      std::string why;
      if (is_off(e.name)) {
        why = "switched off";
      } else if (std::unique_ptr<Kernel> kernel = e.prepare(request, why)) {
        if (chosen) *chosen = e.name;
        return kernel;
      }
      reasons += text("; ", e.name, ": ", why.empty() ? "declined" : why);
    }
  }
  if (reasons.empty()) reasons = text("; no kernel is registered for device ", device_type_name(device));
  fail(ErrorKind::NotImplemented, request_text(request), " has no kernel for these inputs", reasons);
}

std::vector<AcceptedKernel> accepted_kernels(const KernelRequest& request, DeviceType device) {
  std::vector<AcceptedKernel> list;
  for (const KernelEntry& e : kernel_candidates(request.op, device)) {
    std::string why;
    if (is_off(e.name)) continue;
    if (std::unique_ptr<Kernel> kernel = e.prepare(request, why))
      list.push_back({e.name, e.priority, std::move(kernel)});
  }
  return list;
}

void LaunchStatus::report(const char* format, ...) {
  if (failed) return;
  failed = true;
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
}

}  // namespace hw
