/* The C interface of libheadwater_infer: loads a frozen model (.hwm) and runs it. Needs nothing but this file and the library.
 *
 * Functions return a status; hwi_error() has the words for it, of the last call on this thread that failed. Nothing is thrown, nothing
 * aborts. Handles of models may be shared by threads; a session is used by one thread at a time. */
#ifndef HEADWATER_INFER_H
#define HEADWATER_INFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HWI_API __attribute__((visibility("default")))
#else
#define HWI_API
#endif

typedef enum hwi_status { /* NOLINT(readability-identifier-naming): a C name */
                          HWI_OK = 0,
                          HWI_INVALID = 1,  /* an argument, or a file that is damaged or wrong */
                          HWI_NO_FILE = 2,  /* it cannot be read */
                          HWI_NO_SHAPE = 3, /* the model has no plan for these shapes */
                          HWI_NO_MEMORY = 4,
                          HWI_BAD_DATA = 5,    /* what only the data can show: an index out of range */
                          HWI_UNSUPPORTED = 6, /* no kernel of this library serves an operator of the model */
                          HWI_FAILED = 7       /* anything else; an error of ours */
} hwi_status;

/* The numbers of element types in files and in this interface. */
typedef enum hwi_dtype { /* NOLINT(readability-identifier-naming): a C name */
                         HWI_BOOL = 0,
                         HWI_U8 = 1,
                         HWI_I8 = 2,
                         HWI_I16 = 3,
                         HWI_I32 = 4,
                         HWI_I64 = 5,
                         HWI_F16 = 6,
                         HWI_BF16 = 7,
                         HWI_F32 = 8,
                         HWI_F64 = 9,
                         HWI_C64 = 10,
                         HWI_C128 = 11
} hwi_dtype;

typedef struct hwi_model hwi_model;
typedef struct hwi_memory hwi_memory;
typedef struct hwi_session hwi_session;

/* A contiguous tensor. `shape` belongs to the model and lives as long as it does. */
typedef struct hwi_spec {
  hwi_dtype dtype;
  int32_t ndim;
  const int64_t* shape;
  size_t bytes;
} hwi_spec;

HWI_API const char* hwi_version(void);
/* Words for the last failure on this thread; never null. Valid until the next call on this thread. Functions that give a pointer or a
 * number set it too when they give null for want of what was asked for. */
HWI_API const char* hwi_error(void);
/* Threads that kernels use, in the whole process; n < 1 leaves it. Gives the number in use. Set it before sessions are made. */
HWI_API int hwi_threads(int n);

/* ---- models */
HWI_API hwi_status hwi_model_load(const char* path, hwi_model** model);
/* Of memory that must live as long as the model. If `data` is not at a multiple of 64, it is copied. */
HWI_API hwi_status hwi_model_load_memory(const void* data, size_t bytes, hwi_model** model);
/* An encrypted model, with its key of 32 bytes. It is decrypted into memory; neither the key nor `data` is needed afterwards. HWI_INVALID
 * for another key and for a file that was changed, HWI_NO_FILE where OpenSSL's libcrypto is not installed. */
HWI_API hwi_status hwi_model_load_encrypted(const char* path, const void* key, size_t key_bytes, hwi_model** model);
HWI_API hwi_status hwi_model_load_memory_encrypted(const void* data, size_t bytes, const void* key, size_t key_bytes,
                                                   hwi_model** model);
/* The model lives on as long as a session uses it. Null is fine. */
HWI_API void hwi_model_free(hwi_model* model);
HWI_API const char* hwi_model_name(const hwi_model* model);
/* What was kept with the model under this key, or null (which is no failure, if the arguments are there). */
HWI_API const char* hwi_model_note(const hwi_model* model, const char* key);
HWI_API int32_t hwi_model_inputs(const hwi_model* model);
HWI_API int32_t hwi_model_outputs(const hwi_model* model);
HWI_API const char* hwi_model_input_name(const hwi_model* model, int32_t i);
HWI_API const char* hwi_model_output_name(const hwi_model* model, int32_t i);
/* How many sets of input shapes the model has plans for, and what inputs and outputs are in each. */
HWI_API int32_t hwi_model_forms(const hwi_model* model);
HWI_API hwi_status hwi_model_input_spec(const hwi_model* model, int32_t form, int32_t i, hwi_spec* spec);
HWI_API hwi_status hwi_model_output_spec(const hwi_model* model, int32_t form, int32_t i, hwi_spec* spec);
/* Reads all weights and compares their hash: loading does not. */
HWI_API hwi_status hwi_model_check_data(const hwi_model* model);
/* Runs the test inputs that the file holds. `difference`: the largest deviation of an output, as a part of that output's largest value;
 * fails with HWI_INVALID if it is above `tolerance`, or if there are no tests. May be null. */
HWI_API hwi_status hwi_model_check(const hwi_model* model, double tolerance, double* difference);

/* ---- sessions */
/* Working memory that sessions may share; their runs then take turns. */
HWI_API hwi_status hwi_memory_create(hwi_memory** memory);
HWI_API void hwi_memory_free(hwi_memory* memory);
/* The caller's functions in place of the library's: for working memory, and for outputs of sessions that use it. Both are called by
 * the thread that runs or frees a session, never by two at once for one hwi_memory. `allocate` gives memory at a multiple of `alignment`
 * (64), or null: then the run fails with HWI_NO_MEMORY. Everything is released by the time the memory and its sessions are freed. */
typedef struct hwi_allocator {
  void* context;
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* data, size_t bytes);
} hwi_allocator;
HWI_API hwi_status hwi_memory_create_with(const hwi_allocator* allocator, hwi_memory** memory);
/* `memory` may be null: then the session has its own. */
HWI_API hwi_status hwi_session_create(hwi_model* model, hwi_memory* memory, hwi_session** session);
HWI_API void hwi_session_free(hwi_session* session);
/* Threads of this session's kernels: 1 to 1024, or 0 for as many as hwi_threads says. `cores` (may be null): cores of the machine they
 * run on, thread i on cores[i % count]; the thread that calls hwi_session_run is one of them, and may go where it likes again when the
 * call ends. Kernels are prepared anew, so set it before the first run. */
HWI_API hwi_status hwi_session_team(hwi_session* session, int32_t threads, const int32_t* cores, int32_t count);
/* Ties an input to the caller's memory, which is read in each run where it lies. `shape` may be null for the first shape of the model.
 * `dtype` is an hwi_dtype, by its number: any number may come from outside. */
HWI_API hwi_status hwi_session_input(hwi_session* session, int32_t i, const void* data, int32_t dtype, int32_t ndim,
                                     const int64_t* shape);
HWI_API hwi_status hwi_session_input_by_name(hwi_session* session, const char* name, const void* data, hwi_dtype dtype,
                                             int32_t ndim, const int64_t* shape);
/* Ties an output to the caller's memory, which each run fills. Without it, or with null, the session has memory for it. It must not
 * overlap with inputs or other outputs. */
HWI_API hwi_status hwi_session_output(hwi_session* session, int32_t i, void* data, size_t bytes);
HWI_API hwi_status hwi_session_run(hwi_session* session);
/* The same on a thread of the session; `done` is called there when it ends. One at a time: the next call waits. */
typedef void (*hwi_done)(void* context, hwi_status status, const char* error);
HWI_API hwi_status hwi_session_run_async(hwi_session* session, hwi_done done, void* context);
/* Waits for the last asynchronous run, and gives its status. */
HWI_API hwi_status hwi_session_wait(hwi_session* session);
/* An output of the last run. */
HWI_API hwi_status hwi_session_result(hwi_session* session, int32_t i, const void** data, hwi_spec* spec);
HWI_API hwi_status hwi_session_result_by_name(hwi_session* session, const char* name, const void** data,
                                              hwi_spec* spec);
/* Bytes of working memory of the plan in use, outputs of the session's own included. */
HWI_API size_t hwi_session_bytes(const hwi_session* session);

#ifdef __cplusplus
}
#endif
#endif
