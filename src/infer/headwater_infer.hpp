// The C interface as C++ classes: handles that free themselves, failures as exceptions. Header only, C++17.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "headwater_infer.h"

namespace headwater_infer {

/// A call that failed; `status` says how, what() in words.
class Error : public std::runtime_error {
 public:
  explicit Error(hwi_status s, const char* words = hwi_error()) : std::runtime_error(words), status(s) {}
  hwi_status status;
};

inline void check(hwi_status status) {
  if (status != HWI_OK) throw Error(status);
}

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> : std::integral_constant<hwi_dtype, HWI_F32> {};
template <>
struct DtypeOf<double> : std::integral_constant<hwi_dtype, HWI_F64> {};
template <>
struct DtypeOf<bool> : std::integral_constant<hwi_dtype, HWI_BOOL> {};
template <>
struct DtypeOf<int8_t> : std::integral_constant<hwi_dtype, HWI_I8> {};
template <>
struct DtypeOf<uint8_t> : std::integral_constant<hwi_dtype, HWI_U8> {};
template <>
struct DtypeOf<int16_t> : std::integral_constant<hwi_dtype, HWI_I16> {};
template <>
struct DtypeOf<int32_t> : std::integral_constant<hwi_dtype, HWI_I32> {};
template <>
struct DtypeOf<int64_t> : std::integral_constant<hwi_dtype, HWI_I64> {};

class Model {
 public:
  explicit Model(const std::string& path) {
    hwi_model* made = nullptr;
    check(hwi_model_load(path.c_str(), &made));
    handle_.reset(made, hwi_model_free);
  }
  /// The memory must live as long as the model.
  Model(const void* data, size_t bytes) {
    hwi_model* made = nullptr;
    check(hwi_model_load_memory(data, bytes, &made));
    handle_.reset(made, hwi_model_free);
  }
  /// An encrypted one, with its key of 32 bytes.
  Model(const std::string& path, const void* key, size_t key_bytes) {
    hwi_model* made = nullptr;
    check(hwi_model_load_encrypted(path.c_str(), key, key_bytes, &made));
    handle_.reset(made, hwi_model_free);
  }
  hwi_model* get() const { return handle_.get(); }
  int inputs() const { return hwi_model_inputs(get()); }
  int outputs() const { return hwi_model_outputs(get()); }
  int forms() const { return hwi_model_forms(get()); }
  std::string input_name(int i) const { return named(hwi_model_input_name(get(), i)); }
  std::string output_name(int i) const { return named(hwi_model_output_name(get(), i)); }
  hwi_spec input_spec(int i, int form = 0) const {
    hwi_spec s;
    check(hwi_model_input_spec(get(), form, i, &s));
    return s;
  }
  hwi_spec output_spec(int i, int form = 0) const {
    hwi_spec s;
    check(hwi_model_output_spec(get(), form, i, &s));
    return s;
  }
  /// Runs the file's tests; the largest deviation.
  double test(double tolerance = 1e-3) const {
    double found = 0;
    check(hwi_model_check(get(), tolerance, &found));
    return found;
  }

 private:
  static std::string named(const char* name) { return name ? name : ""; }
  std::shared_ptr<hwi_model> handle_;
};

/// Working memory that sessions may share; of the caller's functions if they are given.
class Memory {
 public:
  Memory() {
    hwi_memory* made = nullptr;
    check(hwi_memory_create(&made));
    handle_.reset(made, hwi_memory_free);
  }
  explicit Memory(const hwi_allocator& allocator) {
    hwi_memory* made = nullptr;
    check(hwi_memory_create_with(&allocator, &made));
    handle_.reset(made, hwi_memory_free);
  }
  hwi_memory* get() const { return handle_.get(); }

 private:
  std::shared_ptr<hwi_memory> handle_;
};

class Session {
 public:
  explicit Session(const Model& model) : Session(model, nullptr) {}
  Session(const Model& model, const Memory& memory) : Session(model, memory.get()) {}
  hwi_session* get() const { return handle_.get(); }
  /// See hwi_session_team.
  void team(int threads, const std::vector<int32_t>& cores = {}) {
    check(hwi_session_team(get(), threads, cores.data(), static_cast<int32_t>(cores.size())));
  }
  /// `data` is read where it lies, in each run.
  template <class T>
  void input(const std::string& name, const T* data, const std::vector<int64_t>& shape) {
    check(hwi_session_input_by_name(get(), name.c_str(), data, DtypeOf<T>::value, static_cast<int32_t>(shape.size()),
                                    shape.data()));
  }
  void output(int i, void* data, size_t bytes) { check(hwi_session_output(get(), i, data, bytes)); }
  void run() { check(hwi_session_run(get())); }
  /// An output of the last run, where it lies; null if it is of another type.
  template <class T>
  const T* result(const std::string& name, hwi_spec* spec = nullptr) const {
    const void* data = nullptr;
    hwi_spec found;
    check(hwi_session_result_by_name(get(), name.c_str(), &data, &found));
    if (spec) *spec = found;
    return found.dtype == DtypeOf<T>::value ? static_cast<const T*>(data) : nullptr;
  }

 private:
  Session(const Model& model, hwi_memory* memory) {
    hwi_session* made = nullptr;
    check(hwi_session_create(model.get(), memory, &made));
    handle_.reset(made);
  }
  struct Free {
    void operator()(hwi_session* s) const { hwi_session_free(s); }
  };
  std::unique_ptr<hwi_session, Free> handle_;
};

}  // namespace headwater_infer
