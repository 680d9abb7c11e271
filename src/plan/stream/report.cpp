// The analysis of a plan of actors as text for people: what `headwater plan` prints.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "plan/stream/analysis.h"

namespace hw {

static std::string rounded(double value, const char* unit) {
  const double digits = value >= 100 ? 1 : value >= 10 ? 10 : 100;
  return text(std::round(value * digits) / digits, " ", unit);
}

static std::string time_text(double seconds) {
  if (seconds >= 1) return rounded(seconds, "s");
  if (seconds >= 1e-3) return rounded(seconds * 1e3, "ms");
  return rounded(seconds * 1e6, "us");
}

static std::string bytes_text(double bytes) {
  if (bytes >= 1073741824.0) return rounded(bytes / 1073741824.0, "GiB");
  if (bytes >= 1048576.0) return rounded(bytes / 1048576.0, "MiB");
  if (bytes >= 1024.0) return rounded(bytes / 1024.0, "KiB");
  return text(static_cast<int64_t>(bytes), " bytes");
}

static std::string padded(std::string s, size_t width) {
  if (s.size() < width) s.append(width - s.size(), ' ');
  return s;
}

static std::string critical_text(const StreamPlan& plan, const StreamAnalysis& a) {
  if (a.busiest >= 0)
    return text("  the actors of stream '", plan.streams[static_cast<size_t>(a.busiest)].name,
                "' need that long, whatever their order\n");
  if (a.critical.cycle.empty()) return "  nothing takes time\n";
  return text("  ", cycle_text(plan, a.critical.cycle), "\n  ",
              time_text(static_cast<double>(a.critical.nanoseconds) / 1e9), " around it, ", a.critical.tokens,
              a.critical.tokens == 1 ? " firing" : " firings", " of each actor in it at a time\n");
}

std::string analysis_text(const StreamPlan& plan, const StreamAnalysis& a) {
  std::string out = text("plan ", plan.name.empty() ? "" : text("'", plan.name, "': "), plan.actors.size(), " actors, ",
                         plan.registers.size(), " registers, ", plan.streams.size(), " streams\n",
                         "step time: ", time_text(a.step_seconds), "\ncritical cycle:\n", critical_text(plan, a));
  out += "streams:\n";
  for (size_t s = 0; s < plan.streams.size(); ++s)
    out += text("  ", padded(plan.streams[s].name, 20), " ", padded(plan.streams[s].device, 8), " rank ",
                padded(text(plan.streams[s].rank), 5), rounded(a.utilisation[s] * 100, "%"), " busy\n");
  out += "registers:\n";
  for (const StreamRegister& r : plan.registers)
    out += text("  ", padded(r.name, 20), " ", r.count, r.count == 1 ? " copy of " : " copies of ",
                bytes_text(static_cast<double>(r.bytes)), "\n");
  if (!plan.links.empty()) out += "links, in one step:\n";
  for (size_t l = 0; l < plan.links.size(); ++l) {
    out += text("  ", padded(plan.links[l].name, 20), " ", bytes_text(a.link_bytes[l]));
    if (plan.links[l].bytes_per_second > 0 && a.step_seconds > 0)
      out += text(", ", rounded(100 * a.link_bytes[l] / a.step_seconds / plan.links[l].bytes_per_second, "%"), " of ",
                  bytes_text(plan.links[l].bytes_per_second), "/s");
    out += "\n";
  }
  out += "memory:\n";
  for (const StreamAnalysis::DeviceMemory& m : a.memory)
    out += text("  ", m.device, " of rank ", m.rank, ": ", bytes_text(static_cast<double>(m.registers + m.arenas)),
                " (registers ", bytes_text(static_cast<double>(m.registers)), ", arenas ",
                bytes_text(static_cast<double>(m.arenas)), ")\n");
  return out;
}

}  // namespace hw
