/* Loads a frozen model, runs the tests in it, and times it on inputs of zeros.
 *   gcc -O2 run.c -I$PREFIX/include -L$PREFIX/lib -lheadwater_infer -Wl,-rpath,$PREFIX/lib -o run
 *   ./run model.hwm [calls] */
#define _POSIX_C_SOURCE 200809L
#include <headwater_infer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int smaller_first(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_spec(const char* what, const char* name, const hwi_spec* s) {
  printf("%s %s: type %d, [", what, name, (int)s->dtype);
  for (int32_t a = 0; a < s->ndim; ++a) printf("%s%lld", a ? ", " : "", (long long)s->shape[a]);
  printf("], %zu bytes\n", s->bytes);
}

/* Ties inputs to zeroed memory, which `buffers` keeps. */
static hwi_status give_zeros(hwi_model* model, hwi_session* session, void** buffers) {
  for (int32_t i = 0; i < hwi_model_inputs(model); ++i) {
    hwi_spec spec;
    hwi_status status = hwi_model_input_spec(model, 0, i, &spec);
    if (status != HWI_OK) return status;
    print_spec("input", hwi_model_input_name(model, i), &spec);
    buffers[i] = calloc(1, spec.bytes ? spec.bytes : 1);
    status = hwi_session_input(session, i, buffers[i], spec.dtype, spec.ndim, spec.shape);
    if (status != HWI_OK) return status;
  }
  return HWI_OK;
}

static hwi_status time_calls(hwi_session* session, int calls) {
  hwi_status status = hwi_session_run(session);
  double* times = malloc(sizeof(double) * (size_t)calls);
  for (int i = 0; status == HWI_OK && i < calls; ++i) {
    const double start = microseconds();
    status = hwi_session_run(session);
    times[i] = microseconds() - start;
  }
  if (status == HWI_OK) {
    qsort(times, (size_t)calls, sizeof(double), smaller_first);
    printf("%d calls: median %.2f us, p99 %.2f us, working memory %zu bytes\n", calls, times[calls / 2],
           times[calls * 99 / 100], hwi_session_bytes(session));
  }
  free(times);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: run model.hwm [calls]\n"), 2;
  const int calls = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : 100;
  hwi_model* model = NULL;
  hwi_session* session = NULL;
  const double start = microseconds();
  hwi_status status = hwi_model_load(argv[1], &model);
  if (status == HWI_OK) status = hwi_session_create(model, NULL, &session);
  if (status != HWI_OK) {
    fprintf(stderr, "error %d: %s\n", (int)status, hwi_error());
    hwi_model_free(model);
    return 1;
  }
  printf("%s: loaded in %.2f ms\n", hwi_model_name(model), (microseconds() - start) / 1000);
  double difference = 0;
  status = hwi_model_check(model, 1e-3, &difference);
  if (status == HWI_OK) printf("its tests pass, largest difference %.1e\n", difference);
  const int32_t inputs = hwi_model_inputs(model);
  void** buffers = calloc((size_t)inputs + 1, sizeof(void*));
  if (status == HWI_OK) status = give_zeros(model, session, buffers);
  if (status == HWI_OK) status = time_calls(session, calls);
  for (int32_t i = 0; status == HWI_OK && i < hwi_model_outputs(model); ++i) {
    hwi_spec spec;
    const void* data = NULL;
    status = hwi_session_result(session, i, &data, &spec);
    if (status != HWI_OK) break;
    print_spec("output", hwi_model_output_name(model, i), &spec);
    if (spec.dtype == HWI_F32 && spec.bytes) printf("  first value %g\n", *(const float*)data);
  }
  if (status != HWI_OK) fprintf(stderr, "error %d: %s\n", (int)status, hwi_error());
  hwi_session_free(session);
  hwi_model_free(model);
  for (int32_t i = 0; i < inputs; ++i) free(buffers[i]);
  free(buffers);
  return status == HWI_OK ? 0 : 1;
}
