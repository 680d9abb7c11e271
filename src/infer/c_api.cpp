// The C interface: handles around LoadedModel, Memory and Session; exceptions become a status with words.
#include <new>

#include "base/error.h"
#include "base/thread_team.h"
#include "infer/headwater_infer.h"
#include "infer/session.h"
#include "infer/worker.h"
#include "plan/layout.h"

using hw::infer::LoadedModel;
using hw::infer::Memory;
using hw::infer::Session;

struct hwi_model {
  hw::Ref<LoadedModel> model;
};

struct hwi_memory {
  hw::Ref<Memory> memory;
};

struct hwi_session {
  hwi_session(hw::Ref<LoadedModel> model, hw::Ref<Memory> memory) : session(std::move(model), std::move(memory)) {}
  Session session;
  hwi_done done = nullptr;
  void* context = nullptr;
  hwi_status status = HWI_OK;  // of the last asynchronous run
  std::string error;
  hw::infer::Worker worker;  // the last member: it ends before the rest
};

namespace {

static_assert(HWI_C128 == static_cast<int>(hw::DType::C128) && HWI_F32 == static_cast<int>(hw::DType::F32) &&
              HWI_BOOL == static_cast<int>(hw::DType::Bool) && HWI_I64 == static_cast<int>(hw::DType::I64));

thread_local std::string t_error;

hwi_status failed(hwi_status status, std::string_view words) noexcept {
  try {
    t_error = words;
  } catch (...) {
    t_error.clear();
  }
  return status;
}

hwi_status status_of(hw::ErrorKind kind) {
  switch (kind) {
    case hw::ErrorKind::Value:
    case hw::ErrorKind::Type: return HWI_INVALID;
    case hw::ErrorKind::Index: return HWI_BAD_DATA;
    case hw::ErrorKind::Memory: return HWI_NO_MEMORY;
    case hw::ErrorKind::NotImplemented: return HWI_UNSUPPORTED;
    default: return HWI_FAILED;
  }
}

/// Runs f; nothing passes.
template <class F>
hwi_status guarded(F&& f) noexcept {
  try {
    f();
    return HWI_OK;
  } catch (const hw::Error& e) {
    return failed(status_of(e.kind()), e.message());
  } catch (const std::bad_alloc&) {
    return failed(HWI_NO_MEMORY, "there is no memory left");
  } catch (const std::exception& e) {
    return failed(HWI_FAILED, e.what());
  } catch (...) {
    return failed(HWI_FAILED, "an error of an unknown kind");
  }
}

template <class F>
hwi_status load(hwi_model** model, F&& make) noexcept {
  if (!model) return failed(HWI_INVALID, "the place for the model is null");
  *model = nullptr;
  const hwi_status status = guarded([&] { *model = new hwi_model{make()}; });
  return status == HWI_FAILED ? HWI_NO_FILE : status;
}

void fill(hwi_spec* out, const hw::TensorSpec& s) {
  *out = {static_cast<hwi_dtype>(s.dtype), static_cast<int32_t>(s.shape.size()), s.shape.data(),
          static_cast<size_t>(hw::extent_of(s))};
}

template <class List>
const char* name_at(const List& names, int32_t i, const char* what) {
  if (i >= 0 && static_cast<size_t>(i) < names.size()) return names[static_cast<size_t>(i)].c_str();
  guarded([&] { hw::check(false, "the model has ", names.size(), " ", what, "s, there is no ", what, " ", i); });
  return nullptr;
}

/// The model behind a handle, or null with words.
const hw::FrozenModel* frozen(const hwi_model* model) {
  if (model) return &model->model->frozen();
  failed(HWI_INVALID, "the model is null");
  return nullptr;
}

hwi_status spec_at(const hwi_model* model, int32_t form, int32_t i, hwi_spec* spec, bool input) {
  if (!model || !spec) return failed(HWI_INVALID, "an argument is null");
  const hw::FrozenModel& m = model->model->frozen();
  if (form < 0 || static_cast<size_t>(form) >= m.forms.size()) return failed(HWI_INVALID, "there are no such shapes");
  const hw::FrozenForm& f = m.forms[static_cast<size_t>(form)];
  const auto& list = input ? f.inputs : f.outputs;
  if (i < 0 || static_cast<size_t>(i) >= list.size())
    return failed(HWI_INVALID, input ? "there is no such input" : "there is no such output");
  fill(spec, list[static_cast<size_t>(i)]);
  return HWI_OK;
}

/// Of a run: what is not there is told apart from what no kernel serves.
hwi_status run(hwi_session* s) {
  try {
    s->session.run();
    return HWI_OK;
  } catch (const hw::Error& e) {
    const bool shape = e.message().find(" has no plan for ") != std::string::npos;
    return failed(shape ? HWI_NO_SHAPE : status_of(e.kind()), e.message());
  } catch (const std::bad_alloc&) {
    return failed(HWI_NO_MEMORY, "there is no memory left");
  } catch (const std::exception& e) {
    return failed(HWI_FAILED, e.what());
  } catch (...) {
    return failed(HWI_FAILED, "an error of an unknown kind");
  }
}

void run_job(void* context) {
  auto* s = static_cast<hwi_session*>(context);
  s->status = run(s);
  s->error = s->status == HWI_OK ? "" : t_error;
  if (s->done) s->done(s->context, s->status, s->error.c_str());
}

}  // namespace

extern "C" {

const char* hwi_version(void) { return HEADWATER_VERSION; }
const char* hwi_error(void) { return t_error.c_str(); }

int hwi_threads(int n) {
  if (n >= 1) hw::set_num_threads(n);
  return hw::num_threads();
}

hwi_status hwi_model_load(const char* path, hwi_model** model) {
  if (!path) return failed(HWI_INVALID, "the path is null");
  return load(model, [&] { return LoadedModel::load(path); });
}
hwi_status hwi_model_load_memory(const void* data, size_t bytes, hwi_model** model) {
  return load(model, [&] { return LoadedModel::from_memory(data, bytes); });
}
hwi_status hwi_model_load_encrypted(const char* path, const void* key, size_t key_bytes, hwi_model** model) {
  if (!path) return failed(HWI_INVALID, "the path is null");
  if (!key) return failed(HWI_INVALID, "the key is null");
  return load(model, [&] { return LoadedModel::load(path, {static_cast<const char*>(key), key_bytes}); });
}
hwi_status hwi_model_load_memory_encrypted(const void* data, size_t bytes, const void* key, size_t key_bytes,
                                           hwi_model** model) {
  if (!key) return failed(HWI_INVALID, "the key is null");
  return load(model, [&] { return LoadedModel::from_memory(data, bytes, {static_cast<const char*>(key), key_bytes}); });
}
void hwi_model_free(hwi_model* model) { delete model; }

const char* hwi_model_name(const hwi_model* model) {
  const hw::FrozenModel* m = frozen(model);
  return m ? m->name.c_str() : nullptr;
}
const char* hwi_model_note(const hwi_model* model, const char* key) {
  const hw::FrozenModel* m = frozen(model);
  if (m && !key) failed(HWI_INVALID, "the key is null");
  if (m && key)
    for (const auto& [k, value] : m->notes)
      if (k == key) return value.c_str();
  return nullptr;
}
int32_t hwi_model_inputs(const hwi_model* model) {
  const hw::FrozenModel* m = frozen(model);
  return m ? static_cast<int32_t>(m->inputs.size()) : 0;
}
int32_t hwi_model_outputs(const hwi_model* model) {
  const hw::FrozenModel* m = frozen(model);
  return m ? static_cast<int32_t>(m->outputs.size()) : 0;
}
const char* hwi_model_input_name(const hwi_model* model, int32_t i) {
  const hw::FrozenModel* m = frozen(model);
  return m ? name_at(m->inputs, i, "input") : nullptr;
}
const char* hwi_model_output_name(const hwi_model* model, int32_t i) {
  const hw::FrozenModel* m = frozen(model);
  return m ? name_at(m->outputs, i, "output") : nullptr;
}
int32_t hwi_model_forms(const hwi_model* model) {
  const hw::FrozenModel* m = frozen(model);
  return m ? static_cast<int32_t>(m->forms.size()) : 0;
}
hwi_status hwi_model_input_spec(const hwi_model* model, int32_t form, int32_t i, hwi_spec* spec) {
  return spec_at(model, form, i, spec, true);
}
hwi_status hwi_model_output_spec(const hwi_model* model, int32_t form, int32_t i, hwi_spec* spec) {
  return spec_at(model, form, i, spec, false);
}
hwi_status hwi_model_check_data(const hwi_model* model) {
  if (!model) return failed(HWI_INVALID, "the model is null");
  return guarded([&] { model->model->check_data(); });
}
hwi_status hwi_model_check(const hwi_model* model, double tolerance, double* difference) {
  if (!model) return failed(HWI_INVALID, "the model is null");
  return guarded([&] {
    const double found = hw::infer::test_difference(model->model);
    if (difference) *difference = found;
    hw::check(found <= tolerance, "the model's tests differ from what they should give by ", found,
              " of the largest value; allowed are ", tolerance);
  });
}

hwi_status hwi_memory_create(hwi_memory** memory) {
  if (!memory) return failed(HWI_INVALID, "the place for the memory is null");
  *memory = nullptr;
  return guarded([&] { *memory = new hwi_memory{hw::make_ref<Memory>()}; });
}
hwi_status hwi_memory_create_with(const hwi_allocator* allocator, hwi_memory** memory) {
  if (!memory) return failed(HWI_INVALID, "the place for the memory is null");
  *memory = nullptr;
  if (!allocator || !allocator->allocate || !allocator->release)
    return failed(HWI_INVALID, "an allocator needs both of its functions");
  return guarded([&] {
    *memory = new hwi_memory{
        hw::make_ref<Memory>(hw::infer::Allocator{allocator->context, allocator->allocate, allocator->release})};
  });
}
void hwi_memory_free(hwi_memory* memory) { delete memory; }

hwi_status hwi_session_create(hwi_model* model, hwi_memory* memory, hwi_session** session) {
  if (!model || !session) return failed(HWI_INVALID, "an argument is null");
  *session = nullptr;
  return guarded([&] { *session = new hwi_session(model->model, memory ? memory->memory : hw::Ref<Memory>()); });
}
void hwi_session_free(hwi_session* session) { delete session; }

hwi_status hwi_session_team(hwi_session* session, int32_t threads, const int32_t* cores, int32_t count) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  return guarded([&] {
    hw::check(count >= 0 && (cores || count == 0), "a list of ", count, " cores");
    session->session.set_team(threads, {cores, static_cast<size_t>(count)});
  });
}

hwi_status hwi_session_input(hwi_session* session, int32_t i, const void* data, int32_t dtype, int32_t ndim,
                             const int64_t* shape) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  return guarded([&] {
    const hw::FrozenForm& first = session->session.model().form(0);
    hw::check(ndim >= 0 && ndim <= hw::kMaxDims, "a tensor has ", ndim, " axes");
    hw::check(dtype >= 0 && dtype < hw::kNumDTypes, "there is no dtype number ", dtype);
    std::span<const int64_t> sizes;
    if (shape)
      sizes = {shape, static_cast<size_t>(ndim)};
    else if (i >= 0 && static_cast<size_t>(i) < first.inputs.size())
      sizes = first.inputs[static_cast<size_t>(i)].shape;
    session->session.set_input(i, data, static_cast<hw::DType>(dtype), sizes);
  });
}
hwi_status hwi_session_input_by_name(hwi_session* session, const char* name, const void* data, hwi_dtype dtype,
                                     int32_t ndim, const int64_t* shape) {
  if (!session || !name) return failed(HWI_INVALID, "an argument is null");
  const int32_t i = session->session.model().input_number(name);
  if (i < 0) return guarded([&] { hw::check(false, "the model has no input '", name, "'"); });
  return hwi_session_input(session, i, data, dtype, ndim, shape);
}
hwi_status hwi_session_output(hwi_session* session, int32_t i, void* data, size_t bytes) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  return guarded([&] { session->session.set_output(i, data, bytes); });
}
hwi_status hwi_session_run(hwi_session* session) {
  return session ? run(session) : failed(HWI_INVALID, "the session is null");
}
hwi_status hwi_session_run_async(hwi_session* session, hwi_done done, void* context) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  session->worker.wait();
  session->done = done;
  session->context = context;
  if (!session->worker.start(run_job, session)) return failed(HWI_FAILED, "the system gives no thread");
  return HWI_OK;
}
hwi_status hwi_session_wait(hwi_session* session) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  session->worker.wait();
  return session->status == HWI_OK ? HWI_OK : failed(session->status, session->error);
}
hwi_status hwi_session_result(hwi_session* session, int32_t i, const void** data, hwi_spec* spec) {
  if (!session) return failed(HWI_INVALID, "the session is null");
  return guarded([&] {
    const void* at = session->session.result(i);
    if (data) *data = at;
    if (spec) fill(spec, session->session.result_spec(i));
  });
}
hwi_status hwi_session_result_by_name(hwi_session* session, const char* name, const void** data, hwi_spec* spec) {
  if (!session || !name) return failed(HWI_INVALID, "an argument is null");
  const int32_t i = session->session.model().output_number(name);
  if (i < 0) return guarded([&] { hw::check(false, "the model has no output '", name, "'"); });
  return hwi_session_result(session, i, data, spec);
}
size_t hwi_session_bytes(const hwi_session* session) { return session ? session->session.bytes() : 0; }

}  // extern "C"
