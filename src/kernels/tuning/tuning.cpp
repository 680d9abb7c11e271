// Choices among ways, remembered by what they depend on.
#include "kernels/tuning/tuning.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "base/build_id.h"
#include "base/error.h"
#include "base/flags.h"
#include "base/kept_files.h"
#include "base/processor.h"
#include "base/text.h"
#include "base/thread_team.h"
#include "kernels/accepted.h"
#include "kernels/isa.h"
#include "kernels/tuning/measure.h"

namespace hw {

namespace {

constexpr double kNoise = 0.97;  // another way than the first must take less than this part of its time
constexpr int64_t kMostBytes = int64_t{32} << 20;

std::atomic<Tuning>& mode() {
  static std::atomic<Tuning> mode = parse_tuning(flag_text("HEADWATER_TUNING", "heuristic"));
  return mode;
}

KeptFiles kept() { return KeptFiles("tuning", ".hwtune", kMostBytes); }

struct Choices {
  std::mutex mutex;
  std::map<std::string, TuningChoice> by_key;
};
Choices& choices() {
  static Choices choices;
  return choices;
}

std::string request_text(const KernelRequest& request) {
  std::string out(request.op);
  out += '(';
  const auto add = [&](const TensorSpec& s) {
    if (!s.given()) {
      out += "None ";
      return;
    }
    append_text(out, s);
    if (!s.contiguous()) out += text("/", s.strides);
    out += ' ';
  };
  for (const TensorSpec& s : request.inputs) add(s);
  out += "-> ";
  for (const TensorSpec& s : request.outputs) add(s);
  for (const AttrValue& a : request.attrs) {
    append_text(out, a);
    out += ' ';
  }
  out.back() = ')';
  return out;
}

/// All that a measurement depends on.
std::string key_of(std::string_view ways) {
  return text(ways, "\n", build_id(), "\n", processor_name(), "\n", isa_name(isa()), "\n", num_threads(), "\n",
              kernels_off());
}

/// One choice as a file: the key, then a line "chosen" and lines "seconds name".
std::string write(const std::string& key, const TuningChoice& c) {
  std::string out = text(key, "\n\n", c.chosen, "\n");
  for (size_t i = 0; i < c.names.size(); ++i) out += text(c.seconds[i], " ", c.names[i], "\n");
  return out;
}

bool read(std::string_view file, const std::string& key, TuningChoice& c) {
  const std::string start = key + "\n\n";
  if (!file.starts_with(start)) return false;
  const std::string rest(file.substr(start.size()));
  char* at = nullptr;
  c.chosen = std::strtoul(rest.c_str(), &at, 10);
  for (size_t i = 0; i < c.names.size(); ++i) {
    c.seconds.push_back(std::strtod(at, &at));
    if (*at != ' ' || std::strncmp(at + 1, c.names[i].c_str(), c.names[i].size()) != 0) return false;
    at += 1 + c.names[i].size();
  }
  return c.chosen < c.names.size() && std::strcmp(at, "\n") == 0;
}

size_t least(const std::vector<double>& seconds) {
  const auto best = static_cast<size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  return seconds[best] < kNoise * seconds[0] ? best : 0;
}

/// `kernels()` prepares what is to be measured, if that is not known.
template <class Prepare>
size_t choose(std::string ways, std::vector<std::string> names, Prepare&& kernels) {
  const std::string key = key_of(ways);
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_key.find(key); found != all.by_key.end()) return found->second.chosen;
  TuningChoice c{std::move(ways), std::move(names), {}, 0, false};
  const Hash128 hash = hash128(key.data(), key.size());
  std::string file;
  const bool there = kept().read(hash, [&](size_t bytes) -> void* {
    file.resize(bytes);
    return file.data();
  });
  c.from_disk = there && read(file, key, c);
  if (!c.from_disk) {
    c.seconds = measure(kernels());
    c.chosen = least(c.seconds);
    kept().write(hash, write(key, c));
  }
  return all.by_key.emplace(key, std::move(c)).first->second.chosen;
}

}  // namespace

Tuning tuning() { return mode(); }
void set_tuning(Tuning m) { mode() = m; }

std::string_view tuning_name(Tuning m) {
  constexpr std::string_view kNames[] = {"off", "heuristic", "measure"};
  return kNames[static_cast<size_t>(m)];
}

Tuning parse_tuning(std::string_view name) {
  for (Tuning m : {Tuning::Off, Tuning::Heuristic, Tuning::Measure})
    if (tuning_name(m) == name) return m;
  fail(ErrorKind::Value, "there is no tuning mode '", name, "'; use 'off', 'heuristic' or 'measure'");
}

size_t fastest_way(std::span<const KernelRequest> ways) {
  std::string joined;
  std::vector<std::string> names;
  for (const KernelRequest& w : ways) {
    names.push_back(request_text(w));
    joined += text(joined.empty() ? "" : " | ", names.back());
  }
  std::vector<std::unique_ptr<Kernel>> prepared;
  return choose(std::move(joined), std::move(names), [&] {
    std::vector<TimedKernel> list;
    for (const KernelRequest& w : ways) {
      prepared.push_back(prepare_kernel(w, DeviceType::CPU));
      list.push_back({prepared.back().get(), &w});
    }
    return list;
  });
}

std::unique_ptr<Kernel> prepare_fastest(const KernelRequest& request, DeviceType device, std::string* chosen) {
  if (tuning() != Tuning::Measure) return prepare_kernel(request, device, chosen);
  std::vector<AcceptedKernel> accepted = accepted_kernels(request, device);
  std::erase_if(accepted, [](const AcceptedKernel& a) { return a.priority == kReferencePriority; });
  if (accepted.size() < 2) return prepare_kernel(request, device, chosen);
  std::vector<std::string> names;
  std::vector<TimedKernel> list;
  for (const AcceptedKernel& a : accepted) {
    names.emplace_back(a.name);
    list.push_back({a.kernel.get(), &request});
  }
  AcceptedKernel& best = accepted[choose(request_text(request), std::move(names), [&] { return list; })];
  if (chosen) *chosen = best.name;
  return std::move(best.kernel);
}

std::vector<TuningChoice> tuning_choices() {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  std::vector<TuningChoice> list;
  for (const auto& [key, choice] : all.by_key) list.push_back(choice);
  return list;
}

std::string tuning_folder() { return kept().folder(); }

void clear_tuning() {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  all.by_key.clear();
  kept().clear();
}

}  // namespace hw
