// In a pruned runtime whose models are not encrypted, in place of infer/encrypted.cpp.
#include "base/error.h"
#include "infer/encrypted.h"

namespace hw::infer {

bool is_encrypted(const void*, size_t) { return false; }

std::string encrypt(std::string_view, std::string_view) { bug("a pruned runtime does not encrypt"); }

Ref<Storage> decrypt(const void*, size_t, std::string_view) {
  fail(ErrorKind::Value, "this runtime was pruned to models that are not encrypted; prune again with --key-file");
}

}  // namespace hw::infer
