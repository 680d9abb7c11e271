// Entries: a header, the records of passes, and plan files.
#include "compiler/cache/entry.h"

#include <cstring>

#include "base/error.h"
#include "op/check_plan.h"
#include "plan/file.h"
#include "plan/layout.h"

namespace hw {

namespace {

constexpr char kMagic[8] = {'H', 'W', 'P', 'R', 'O', 'G', '\r', '\n'};
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  Hash128 key;
  uint64_t info_bytes;  // behind the header; then the plan and what runs once, each at a multiple of 64
  uint64_t plan_bytes, once_bytes;
  Hash128 hash;  // of the info; plans have their own
  uint64_t unused[7];
};
static_assert(sizeof(Header) == 128);

/// What one pass did, as it is stored. Passes are named by their place in the pipeline, which is part of the key.
struct Record {
  uint8_t off, changed, unused[6];
  int64_t nodes_before, nodes_after, nanoseconds;
};

std::string info_of(const ProgramPlan& program) {
  std::string info;
  const auto put = [&](const void* data, size_t bytes) { info.append(static_cast<const char*>(data), bytes); };
  const uint64_t counts[2] = {program.passes.records.size(), program.once_sources.size()};
  put(counts, sizeof counts);
  for (const PassRecord& r : program.passes.records) {
    const Record record{r.off, r.changed, {}, r.nodes_before, r.nodes_after, r.nanoseconds};
    put(&record, sizeof record);
  }
  put(program.once_sources.data(), program.once_sources.size() * sizeof(int32_t));
  return info;
}

void read_info(const char* info, size_t bytes, ProgramPlan& program) {
  const std::vector<Pass> passes = pipeline();
  uint64_t counts[2] = {0, 0};
  if (bytes >= sizeof counts) std::memcpy(counts, info, sizeof counts);
  const size_t records = passes.size() * sizeof(Record);
  check(counts[0] == passes.size() && bytes >= sizeof counts + records &&
            counts[1] == (bytes - sizeof counts - records) / sizeof(int32_t) &&
            (bytes - sizeof counts - records) % 4 == 0,
        "the records of passes do not fit");
  for (size_t i = 0; i < passes.size(); ++i) {
    Record r;
    std::memcpy(&r, info + sizeof counts + i * sizeof r, sizeof r);
    program.passes.records.push_back({passes[i].name,
                                      passes[i].stage,
                                      r.off != 0,
                                      r.changed != 0,
                                      r.nodes_before,
                                      r.nodes_after,
                                      r.nanoseconds,
                                      {},
                                      {}});
  }
  program.once_sources.resize(counts[1]);
  if (counts[1]) std::memcpy(program.once_sources.data(), info + sizeof counts + records, counts[1] * sizeof(int32_t));
}

/// The plan, fit to be run.
Plan checked_plan(const Ref<Storage>& file, size_t offset, size_t bytes) {
  Plan plan = read_plan(file, offset, bytes);
  if (std::string problem = calls_problem(plan); !problem.empty()) fail(ErrorKind::Value, problem);
  // Constants are views of the file; a few small ones are not worth keeping all of it.
  size_t used = 0;
  for (const Tensor& t : plan.constants) used += t->storage == file ? t.nbytes() : 0;
  if (used * 2 < file->bytes())
    for (Tensor& t : plan.constants) {
      Tensor copy = Tensor::empty_strided(t.shape(), t.strides(), t.dtype());
      std::memcpy(copy.data(), t.data(), static_cast<size_t>(extent_of(t.spec())));
      copy->wrapped = t->wrapped;
      t = copy;
    }
  return plan;
}

}  // namespace

std::string write_entry(const ProgramPlan& program, const Hash128& key) {
  const std::string info = info_of(program), plan = write_plan(program.plan),
                    once = program.once ? write_plan(*program.once) : std::string();
  Header header{{}, kVersion, 0, key, info.size(), plan.size(), once.size(), hash128(info.data(), info.size()), {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  for (const std::string* piece : {&info, &plan, &once}) {
    file += *piece;
    file.resize(aligned64(file.size()));
  }
  return file;
}

ProgramPlan read_entry(const Ref<Storage>& file, const Hash128& key) {
  Header h;
  const auto* data = static_cast<const char*>(file->data());
  check(file->bytes() >= sizeof h && std::memcmp(data, kMagic, sizeof kMagic) == 0, "this is no compiled program");
  std::memcpy(&h, data, sizeof h);
  check(h.version == kVersion, "the compiled program has version ", h.version, ", wanted is ", kVersion);
  check(h.key == key, "the compiled program is another one");
  const uint64_t most = file->bytes();
  check(h.info_bytes <= most && h.plan_bytes <= most && h.once_bytes <= most &&
            sizeof h + aligned64(h.info_bytes) + aligned64(h.plan_bytes) + aligned64(h.once_bytes) == most,
        "the compiled program is cut off or longer than it says");
  check(hash128(data + sizeof h, h.info_bytes) == h.hash, "the compiled program is damaged");
  ProgramPlan program;
  read_info(data + sizeof h, h.info_bytes, program);
  const size_t plan_at = sizeof h + aligned64(h.info_bytes);
  program.plan = checked_plan(file, plan_at, h.plan_bytes);
  if (h.once_bytes) {
    program.once = checked_plan(file, plan_at + aligned64(h.plan_bytes), h.once_bytes);
    check(program.once->sources.size() == program.once_sources.size(), "what runs once has other sources");
  }
  program.from_cache = true;
  return program;
}

}  // namespace hw
