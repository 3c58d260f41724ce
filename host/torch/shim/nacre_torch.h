// What the backend needs of libtorch's C++ interface, as C functions.
//
// Rules for all of them: no exception leaves; a function that can fail gives back an error, which the caller frees, and
// null if all went well; texts are UTF-8 or whatever the model says, and end with a null byte.

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An exception that was caught.
typedef struct NacreError NacreError;
// A loaded TorchScript module on one device.
typedef struct NacreModule NacreModule;
// What one instance has of its own: a stream on a GPU, and the module or a copy of it.
typedef struct NacreSession NacreSession;
// The outputs of one run.
typedef struct NacreResult NacreResult;
// The memory behind one output, or a pinned buffer.
typedef struct NacreStorage NacreStorage;

// The whole text of the exception, C++ backtrace included.
const char* nacre_error_text(const NacreError* error);
// The text without the C++ backtrace.
const char* nacre_error_message(const NacreError* error);
// Whether memory ran out.
bool nacre_error_is_out_of_memory(const NacreError* error);
// Frees an error; null is allowed.
void nacre_error_free(NacreError* error);

// File that libtorch was loaded from; null if the loader does not know. Lives as long as the process.
const char* nacre_library_path(void);
// Version of the libtorch that was loaded: major, minor, patch.
void nacre_library_version(uint32_t version[3]);
// Version of the headers that this was compiled with.
void nacre_compiled_version(uint32_t version[3]);
// GPUs (devices of the one accelerator) that libtorch can use; 0 if it has no support for any.
uint32_t nacre_gpu_count(void);
// Sets the threads for work between operators. Once in a process, before the first run; an error afterwards.
NacreError* nacre_set_interop_threads(int threads);
// Pinned host memory, for copies to and from a GPU. An error without a GPU.
NacreError* nacre_pinned_alloc(size_t size, NacreStorage** storage, uint8_t** data);
// Gives the memory back; from any thread. Null is allowed.
void nacre_storage_free(NacreStorage* storage);

// Names of the files in an archive as torch writes them, one a line, without the folder that they all lie in. An error
// if the file is no such archive or is damaged. Free the text with nacre_text_free.
NacreError* nacre_archive_records(const char* path, char** records);
// Frees a text; null is allowed.
void nacre_text_free(char* text);

// Kinds of values that go in and out.
enum {
  NACRE_OTHER = 0,
  NACRE_TENSOR = 1,
  NACRE_STRINGS = 2,
  NACRE_TENSOR_DICT = 3,
  NACRE_TENSOR_LIST = 4,
};

// An argument of `forward`, or one of its outputs where the schema tells how many there are.
typedef struct {
  // Name; null for outputs.
  const char* name;
  // TorchScript's name of the type.
  const char* type;
  // NACRE_TENSOR for `Tensor` and `Optional[Tensor]`, and so on.
  int32_t kind;
  // It may be left out.
  bool has_default;
  // The model writes into it.
  bool overwritten;
} NacreArgument;

// Loads a TorchScript file in evaluation mode; gpu -1 is the CPU. With `optimize` it is frozen and optimised for
// inference; what of that failed is told in `warning` (null if nothing did; free it with nacre_text_free), and the
// module is used without.
NacreError* nacre_module_load(const char* path, int32_t gpu, bool optimize, NacreModule** module, char** warning);
// Arguments of forward without self; they live as long as the module.
const NacreArgument* nacre_module_arguments(const NacreModule* module, size_t* count);
// Outputs; `known` is false if the schema does not tell how many there are.
const NacreArgument* nacre_module_outputs(const NacreModule* module, size_t* count, bool* known);
// TorchScript's name of the type that forward gives back.
const char* nacre_module_result_type(const NacreModule* module);
// Whether a run leaves nothing behind that a later one could see, so that instances may share the module: everything
// was frozen into constants. False also where that is not known.
bool nacre_module_is_stateless(const NacreModule* module);
// Frees a module; sessions keep what they need of it. Null is allowed.
void nacre_module_free(NacreModule* module);

// Makes a session; with `share` it runs the module itself, else a copy of its own.
NacreError* nacre_session_new(const NacreModule* module, bool share, NacreSession** session);
// Frees a session; null is allowed.
void nacre_session_free(NacreSession* session);

// A value that goes into forward.
typedef struct {
  // NACRE_TENSOR, NACRE_STRINGS, or NACRE_OTHER for the argument's default.
  int32_t kind;
  // c10::ScalarType of a tensor.
  int32_t data_type;
  // Row-major, aligned for the data type; strings: each a 4-byte little-endian length and that many bytes.
  const uint8_t* data;
  size_t size;
  const int64_t* shape;
  size_t rank;
  // Given to `release` exactly once, when nothing refers to `data` any more, from whatever thread that is. Also if the
  // run fails. Null for strings.
  void* owner;
  // The model writes into it, so it gets a copy.
  bool copy;
  // Key where forward takes one dictionary; else null.
  const char* key;
} NacreValue;

// How to run.
typedef struct {
  // NACRE_TENSOR_DICT or NACRE_TENSOR_LIST if the values are to be put together into one; else 0.
  int32_t container;
  // c10::InferenceMode; else only no gradients.
  bool inference_mode;
  // The graph executor may optimise.
  bool optimized_execution;
  // Gives back an owner.
  void (*release)(void* owner);
} NacreRun;

// Runs forward. Values are by position unless put together.
NacreError* nacre_session_run(NacreSession* session, const NacreRun* run, const NacreValue* values, size_t count,
                              NacreResult** result);

// One output: an element of the tuple, list or dictionary that forward gave, or the only one.
typedef struct {
  // NACRE_TENSOR, NACRE_STRINGS; NACRE_OTHER for what is neither.
  int32_t kind;
  // c10::ScalarType of a tensor.
  int32_t data_type;
  // Row-major in host memory. Strings as they go in.
  const uint8_t* data;
  size_t size;
  const int64_t* shape;
  size_t rank;
  // Number of strings.
  size_t count;
  // Key in the dictionary; null if it was none.
  const char* key;
  // Name of the data type of a tensor; of TorchScript's type for others.
  const char* type;
} NacreOutput;

// The outputs; they live as long as the result, the data as long as its storage.
const NacreOutput* nacre_result_outputs(const NacreResult* result, size_t* count);
// Takes the memory of an output out of the result, so that it outlives it. Null if the output has none or it was taken.
NacreStorage* nacre_result_take(NacreResult* result, size_t index);
// Milliseconds that copies to and from the device took; 0 on the CPU.
void nacre_result_times(const NacreResult* result, double* input_ms, double* output_ms);
// Frees a result; null is allowed.
void nacre_result_free(NacreResult* result);

#ifdef __cplusplus
}
#endif
