// dygraph in C: loads and runs saved models, without Python. C99.
//
//   dygraph_predictor* predictor;
//   dygraph_context* context;
//   dygraph_load("model", NULL, &predictor);
//   dygraph_context_create(predictor, &context);
//   dygraph_context_set_input(context, 0, &image);
//   dygraph_context_run(context);
//   dygraph_context_output(context, 0, &answer);
//
// Every function but the three that return text returns a status: DYGRAPH_OK, or what went wrong,
// which dygraph_last_error() says in words. A null pointer, a closed handle and a wrong size are
// statuses too. No function ends the process, and none throws.
//
// A predictor is safe from any number of threads. A context belongs to one thread at a time: a call
// on a context that another thread is using gives DYGRAPH_BUSY, but for dygraph_context_cancel().
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dygraph_status {
  DYGRAPH_OK = 0,
  DYGRAPH_INVALID_ARGUMENT = 1,  // a null pointer, a number or a shape that does not fit
  DYGRAPH_TYPE = 2,              // elements of another type than the model's
  DYGRAPH_NOT_FOUND = 3,         // no input, output, option or operator of this name
  DYGRAPH_FILE_NOT_FOUND = 4,
  DYGRAPH_OUT_OF_RANGE = 5,
  DYGRAPH_UNIMPLEMENTED = 6,
  DYGRAPH_OUT_OF_MEMORY = 7,      // or above the option memory_limit
  DYGRAPH_WRONG_STATE = 8,        // the call needs another one before it
  DYGRAPH_FORMAT = 9,             // a damaged file
  DYGRAPH_ASSERTION_FAILED = 10,  // of the model's own
  DYGRAPH_NOT_FINITE = 11,        // NaN or infinity, where FLAGS_check_nan_inf looks for them
  DYGRAPH_CANCELLED = 12,
  DYGRAPH_TIMED_OUT = 13,
  DYGRAPH_BUSY = 14,    // another thread uses this context
  DYGRAPH_CLOSED = 15,  // the handle is closed, or none of ours
  DYGRAPH_INTERNAL = 16
};

// Element types, numbered as in Fluid's files.
enum dygraph_type {
  DYGRAPH_BOOL = 0,  // a byte, 0 or 1
  DYGRAPH_INT16 = 1,
  DYGRAPH_INT32 = 2,
  DYGRAPH_INT64 = 3,
  DYGRAPH_FLOAT16 = 4,
  DYGRAPH_FLOAT32 = 5,
  DYGRAPH_FLOAT64 = 6,
  DYGRAPH_UINT8 = 20,
  DYGRAPH_INT8 = 21,
  DYGRAPH_BFLOAT16 = 22,
  DYGRAPH_COMPLEX64 = 23,
  DYGRAPH_COMPLEX128 = 24
};

typedef struct dygraph_options dygraph_options;
typedef struct dygraph_predictor dygraph_predictor;
typedef struct dygraph_context dygraph_context;

// Where the sequences of a ragged batch begin and end: {0, 5, 8} are two, of 5 and 3 rows.
typedef struct dygraph_level {
  const int64_t* offsets;
  size_t count;
} dygraph_level;

// An array in row-major order, or the description of one.
typedef struct dygraph_tensor {
  size_t struct_size;  // sizeof(dygraph_tensor), always: later versions may add members at the end
  const char* name;    // of the input or output; not read
  int32_t type;        // dygraph_type
  int32_t rank;
  const int64_t* dims;          // `rank` sizes; in descriptions -1 stands for any size
  const void* data;             // NULL in descriptions
  size_t bytes;                 // of data
  const dygraph_level* levels;  // of detail (LoD), outermost first; NULL in descriptions
  size_t level_count;
} dygraph_tensor;

// Text -------------------------------------------------------------------------------------------

// What the last call of this thread that failed says; "" before one did. Valid until the next one.
const char* dygraph_last_error(void);
const char* dygraph_status_name(int status);  // "DYGRAPH_OK"; "unknown status" for other numbers
const char* dygraph_version(void);            // "0.1.0"

// Options ----------------------------------------------------------------------------------------
//
//   threads        "2": a run uses so many at most; "0", the default: what the process may use
//   memory_limit   "1000000": the most bytes that loading, or one run, may hold; "0": no limit
//   passes         "prune": passes of the library by name, with commas, applied after loading
//   share_weights  "1": weights stay in the pages of a packed file, which all processes share;
//                  "0", the default: the fastest form of each, in memory of this process
//   check_weights  "0": a packed file's weights are not read to compare their checksum; default "1"
//   model_file, weights_file   other names for the files in a directory

int dygraph_options_create(dygraph_options** options);
int dygraph_options_set(dygraph_options* options, const char* name, const char* value);
int dygraph_options_close(dygraph_options* options);

// Predictors -------------------------------------------------------------------------------------

// Loads what save_inference_model, a traced or captured layer, or dygraph_save() wrote: a
// directory, the common part of the names of a .pdmodel and a .pdiparams, or a packed file.
// `options` may be NULL, and may be closed afterwards.
int dygraph_load(const char* path, const dygraph_options* options, dygraph_predictor** predictor);
// The same from memory: a packed file (`weights` NULL), or the two files of a directory. With
// share_weights a packed file's bytes must stay until the predictor and its contexts are closed.
int dygraph_load_memory(const void* model, size_t model_bytes, const void* weights,
                        size_t weights_bytes, const dygraph_options* options,
                        dygraph_predictor** predictor);
// Writes the model, after its passes, as one packed file. It is whole, or the old one stays.
int dygraph_save(const dygraph_predictor* predictor, const char* path);
// Contexts of it go on.
int dygraph_predictor_close(dygraph_predictor* predictor);

int dygraph_predictor_inputs(const dygraph_predictor* predictor, size_t* count);
int dygraph_predictor_outputs(const dygraph_predictor* predictor, size_t* count);
// Name, type, sizes and number of levels, valid while the predictor or a context of it is open.
// Fields of outputs that the model does not know are of rank -1.
int dygraph_predictor_input(const dygraph_predictor* predictor, size_t number,
                            dygraph_tensor* description);
int dygraph_predictor_output(const dygraph_predictor* predictor, size_t number,
                             dygraph_tensor* description);
int dygraph_predictor_find_input(const dygraph_predictor* predictor, const char* name,
                                 size_t* number);
int dygraph_predictor_find_output(const dygraph_predictor* predictor, const char* name,
                                  size_t* number);

// Contexts ---------------------------------------------------------------------------------------

// A context holds inputs, outputs and limits of one run at a time. It is cheap: weights are the
// predictor's.
int dygraph_context_create(const dygraph_predictor* predictor, dygraph_context** context);
// A context of the same predictor with the same limits, without inputs.
int dygraph_context_clone(const dygraph_context* context, dygraph_context** clone);
int dygraph_context_close(dygraph_context* context);

// The data are read by every run until the input is set again, and never written: they must stay
// until then. Everything else of the tensor is copied.
int dygraph_context_set_input(dygraph_context* context, size_t number,
                              const dygraph_tensor* tensor);
int dygraph_context_run(dygraph_context* context);
// What the last run gave, valid until the next run or the end of the context.
int dygraph_context_output(dygraph_context* context, size_t number, dygraph_tensor* tensor);

// From any thread: ends the run in progress, if there is one, with DYGRAPH_CANCELLED.
int dygraph_context_cancel(dygraph_context* context);
// Runs that take longer end with DYGRAPH_TIMED_OUT, at the next operator or within some 60 ms.
// 0: no limit.
int dygraph_context_set_time_limit(dygraph_context* context, double seconds);

// Measures what each operator takes, from the next run on; 0 ends it. Either forgets what was
// measured before.
int dygraph_context_set_profile(dygraph_context* context, int on);
// What was measured, the slowest operator first: a table, or JSON. Valid until the next call.
int dygraph_context_profile(dygraph_context* context, int json, const char** text);

#ifdef __cplusplus
}
#endif
