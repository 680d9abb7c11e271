// The build id out of the notes of the loaded object.
#include "base/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>

#include "base/text.h"

namespace hw {

namespace {

/// The note's digits if `info` is the object that holds `address`.
struct Search {
  uintptr_t address;
  std::string found;
};

void read_notes(const char* at, const char* end, std::string& found) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* value = name + (note.n_namesz + 3) / 4 * 4;
    at = value + (note.n_descsz + 3) / 4 * 4;
    if (at > end || note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(name, "GNU", 4) != 0) continue;
    for (const char* c = value; c < value + note.n_descsz; ++c)
      for (int shift : {4, 0}) found.push_back("0123456789abcdef"[static_cast<unsigned char>(*c) >> shift & 15]);
    return;
  }
}

int look_at(dl_phdr_info* info, size_t, void* search) {
  auto& s = *static_cast<Search*>(search);
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    holds = holds || (h.p_type == PT_LOAD && s.address - (info->dlpi_addr + h.p_vaddr) < h.p_memsz);
  }
  if (!holds) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (const auto& h = info->dlpi_phdr[i]; h.p_type == PT_NOTE && s.found.empty()) {
      const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + h.p_vaddr);
      read_notes(notes, notes + h.p_memsz, s.found);
    }
  return 1;
}

std::string find_build_id() {
  Search search{reinterpret_cast<uintptr_t>(&build_id), {}};
  dl_iterate_phdr(&look_at, &search);
  if (!search.found.empty()) return search.found;
  Dl_info info;
  struct stat file;
  if (dladdr(reinterpret_cast<void*>(&build_id), &info) && stat(info.dli_fname, &file) == 0)
    return text(int64_t{file.st_size}, ".", int64_t{file.st_mtim.tv_sec}, ".", int64_t{file.st_mtim.tv_nsec});
  return "unknown";
}

}  // namespace

const std::string& build_id() {
  static const std::string id = find_build_id();
  return id;
}

}  // namespace hw
