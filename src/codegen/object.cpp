// A loader for small, self-contained objects: sections one behind the other, relocations relative to the place they stand at.
#include "codegen/object.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace hw {

namespace {

class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {}

  bool read(std::string& why_not);
  size_t size() const { return total_; }
  /// Sections and relocations into `memory`, of size() bytes.
  bool place(char* memory, std::string& why_not) const;
  int64_t offset_of(std::string_view name) const;

 private:
  template <class T>
  bool get(uint64_t offset, T& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return true;
  }
  bool inside(const Elf64_Shdr& s) const {
    return s.sh_offset <= bytes_.size() && s.sh_size <= bytes_.size() - s.sh_offset;
  }
  bool relocate(const Elf64_Shdr& table, char* memory) const;

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<int64_t> offsets_;  // by section: where it goes, or -1
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  size_t total_ = 0;
};

bool Object::read(std::string& why_not) {
  why_not = "the object file is damaged";
  Elf64_Ehdr head;
  if (!get(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_type != ET_REL || head.e_machine != EM_X86_64 || head.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  sections_.resize(head.e_shnum);
  offsets_.assign(head.e_shnum, -1);
  for (size_t i = 0; i < sections_.size(); ++i) {
    Elf64_Shdr& s = sections_[i];
    if (!get(head.e_shoff + i * sizeof s, s) || (s.sh_type != SHT_NOBITS && !inside(s))) return false;
    // Not the tables for unwinding: nothing is thrown through this code.
    if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_ALLOC)) continue;
    const size_t align = std::max<size_t>(s.sh_addralign, 1);
    // What could be written holds numbers that nothing writes: it is mapped for reading.
    if (align > 4096) return false;
    total_ = (total_ + align - 1) / align * align;
    offsets_[i] = static_cast<int64_t>(total_);
    total_ += s.sh_size;
  }
  for (const Elf64_Shdr& s : sections_) {
    if (s.sh_type != SHT_SYMTAB) continue;
    if (s.sh_link >= sections_.size()) return false;
    const Elf64_Shdr& names = sections_[s.sh_link];
    if (!inside(names)) return false;
    names_ = bytes_.substr(names.sh_offset, names.sh_size);
    symbols_.resize(s.sh_size / sizeof(Elf64_Sym));
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (!get(s.sh_offset + i * sizeof(Elf64_Sym), symbols_[i])) return false;
  }
  return total_ > 0;
}

bool Object::relocate(const Elf64_Shdr& table, char* memory) const {
  const int64_t base = offsets_[table.sh_info];
  const uint64_t size = sections_[table.sh_info].sh_size;
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela)) {
    Elf64_Rela r;
    if (!get(table.sh_offset + at, r) || r.r_offset > size || size - r.r_offset < 4) return false;
    const uint64_t type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
    if (index >= symbols_.size() || (type != R_X86_64_PC32 && type != R_X86_64_PLT32)) return false;
    const Elf64_Sym& symbol = symbols_[index];
    if (symbol.st_shndx >= offsets_.size() || offsets_[symbol.st_shndx] < 0) return false;  // from outside
    const int64_t target = offsets_[symbol.st_shndx] + static_cast<int64_t>(symbol.st_value) + r.r_addend;
    const int64_t place = base + static_cast<int64_t>(r.r_offset);
    const int32_t value = static_cast<int32_t>(target - place);
    std::memcpy(memory + place, &value, sizeof value);
  }
  return true;
}

bool Object::place(char* memory, std::string& why_not) const {
  for (size_t i = 0; i < sections_.size(); ++i)
    if (offsets_[i] >= 0)
      std::memcpy(memory + offsets_[i], bytes_.data() + sections_[i].sh_offset, sections_[i].sh_size);
  for (const Elf64_Shdr& s : sections_) {
    if (s.sh_type != SHT_RELA || s.sh_info >= offsets_.size() || offsets_[s.sh_info] < 0) continue;
    if (!relocate(s, memory)) {
      why_not = "the object file needs something from outside";
      return false;
    }
  }
  return true;
}

int64_t Object::offset_of(std::string_view name) const {
  for (const Elf64_Sym& s : symbols_) {
    if (s.st_name >= names_.size() || s.st_shndx >= offsets_.size() || offsets_[s.st_shndx] < 0) continue;
    if (s.st_value >= sections_[s.st_shndx].sh_size) continue;
    const std::string_view rest = names_.substr(s.st_name);
    if (rest.substr(0, rest.find('\0')) == name) return offsets_[s.st_shndx] + static_cast<int64_t>(s.st_value);
  }
  return -1;
}

}  // namespace

std::unique_ptr<LoadedCode> LoadedCode::load(std::string_view bytes, std::string_view name, std::string& why_not) {
  Object object(bytes);
  if (!object.read(why_not)) return nullptr;
  const int64_t at = object.offset_of(name);
  if (at < 0) {
    why_not = text("the object file has no function ", name);
    return nullptr;
  }
  void* memory = mmap(nullptr, object.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    why_not = "no memory for code";
    return nullptr;
  }
  std::unique_ptr<LoadedCode> code(new LoadedCode(memory, object.size()));
  if (!object.place(static_cast<char*>(memory), why_not)) return nullptr;
  if (mprotect(memory, object.size(), PROT_READ | PROT_EXEC) != 0) {
    why_not = "this system allows no code made at run time";
    return nullptr;
  }
  code->function_ = static_cast<char*>(memory) + at;
  return code;
}

LoadedCode::~LoadedCode() { munmap(memory_, bytes_); }

}  // namespace hw
