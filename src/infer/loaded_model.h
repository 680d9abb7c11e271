// A frozen model in memory: the file, mapped, its plans, and packed weights. Shared by sessions; nothing in it changes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/frozen.h"

namespace hw::infer {

class LoadedModel : public RefCounted {
 public:
  /// Maps the file. Throws Error{Value} for what is no model, Error{Runtime} for what cannot be read.
  static Ref<LoadedModel> load(const std::string& path);
  /// An encrypted one (infer/encrypted.h), decrypted into memory. The key is not kept.
  static Ref<LoadedModel> load(const std::string& path, std::string_view key);
  /// The memory must live as long as the model; it is copied if it does not lie at a multiple of 64.
  static Ref<LoadedModel> from_memory(const void* data, size_t bytes);
  /// Of an encrypted one; the memory is not needed afterwards.
  static Ref<LoadedModel> from_memory(const void* data, size_t bytes, std::string_view key);
  explicit LoadedModel(Ref<Storage> file);
  /// One that is in no file; frozen_problem() found nothing wrong with it.
  explicit LoadedModel(FrozenModel model);

  const FrozenModel& frozen() const { return model_; }
  const FrozenForm& form(size_t i) const { return model_.forms[i]; }
  /// Addresses of a plan's sources; null for inputs and what is not read.
  std::vector<const void*> sources(size_t form) const;
  /// The form for these shapes and dtypes. Throws Error{Value} that lists the shapes there are.
  size_t form_for(std::span<const TensorSpec> inputs) const;
  int32_t input_number(std::string_view name) const;  // -1: none
  int32_t output_number(std::string_view name) const;
  void check_data() const {
    if (file_) check_frozen_data(*file_);
  }
  size_t file_bytes() const { return file_ ? file_->bytes() : 0; }

 private:
  struct Packed {  // what a form's plan that runs once made
    std::vector<Ref<Storage>> memory;
    std::vector<const void*> results;
  };
  void pack_all();
  Packed pack(const FrozenForm& form) const;

  Ref<Storage> file_;
  FrozenModel model_;
  std::vector<Packed> packed_;  // by form
};

}  // namespace hw::infer
