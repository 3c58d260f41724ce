// Plugins in C: short names for the generated bindings (plugin.h), tensors, strings, parameters, errors.
//
// A plugin defines the three functions below; the server calls `nacre_describe` and `nacre_configure` once, when it
// loads the model, and keeps the memory that they leave. Each request begins with that memory, in an instance that no
// other request has seen: what `nacre_process` changes, nobody sees again, and what it does not free is gone with it.
//
// Functions that return a bool return false after they have set `error`, and the plugin passes that on. Memory that
// cannot be had ends the request (and only it) with a trap, so nothing here returns NULL for want of it.
#ifndef NACRE_H
#define NACRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef plugin_string_t nacre_string;  // `ptr` and `len`; no zero at its end
typedef plugin_list_s64_t nacre_shape;
typedef exports_nacre_plugin_step_settings_t nacre_settings;
typedef exports_nacre_plugin_step_description_t nacre_description;
typedef nacre_plugin_types_request_t nacre_request;
typedef nacre_plugin_types_response_t nacre_response;
typedef nacre_plugin_types_tensor_t nacre_tensor;
typedef nacre_plugin_types_tensor_spec_t nacre_tensor_spec;
typedef nacre_plugin_types_error_t nacre_error;

// Element types, named as in the protocol and in config.pbtxt.
typedef enum {
  NACRE_BOOL = NACRE_PLUGIN_TYPES_DATA_TYPE_BOOLEAN,
  NACRE_UINT8 = NACRE_PLUGIN_TYPES_DATA_TYPE_UINT8,
  NACRE_UINT16 = NACRE_PLUGIN_TYPES_DATA_TYPE_UINT16,
  NACRE_UINT32 = NACRE_PLUGIN_TYPES_DATA_TYPE_UINT32,
  NACRE_UINT64 = NACRE_PLUGIN_TYPES_DATA_TYPE_UINT64,
  NACRE_INT8 = NACRE_PLUGIN_TYPES_DATA_TYPE_INT8,
  NACRE_INT16 = NACRE_PLUGIN_TYPES_DATA_TYPE_INT16,
  NACRE_INT32 = NACRE_PLUGIN_TYPES_DATA_TYPE_INT32,
  NACRE_INT64 = NACRE_PLUGIN_TYPES_DATA_TYPE_INT64,
  NACRE_FP16 = NACRE_PLUGIN_TYPES_DATA_TYPE_FP16,
  NACRE_BF16 = NACRE_PLUGIN_TYPES_DATA_TYPE_BF16,
  NACRE_FP32 = NACRE_PLUGIN_TYPES_DATA_TYPE_FP32,
  NACRE_FP64 = NACRE_PLUGIN_TYPES_DATA_TYPE_FP64,
  NACRE_BYTES = NACRE_PLUGIN_TYPES_DATA_TYPE_BYTES,
} nacre_type;

// Whose fault an error is; the server makes it a status.
typedef enum {
  NACRE_INVALID_ARGUMENT = NACRE_PLUGIN_TYPES_ERROR_CODE_INVALID_ARGUMENT,
  NACRE_NOT_FOUND = NACRE_PLUGIN_TYPES_ERROR_CODE_NOT_FOUND,
  NACRE_UNSUPPORTED = NACRE_PLUGIN_TYPES_ERROR_CODE_UNSUPPORTED,
  NACRE_RESOURCE_EXHAUSTED = NACRE_PLUGIN_TYPES_ERROR_CODE_RESOURCE_EXHAUSTED,
  NACRE_UNAVAILABLE = NACRE_PLUGIN_TYPES_ERROR_CODE_UNAVAILABLE,
  NACRE_DEADLINE_EXCEEDED = NACRE_PLUGIN_TYPES_ERROR_CODE_DEADLINE_EXCEEDED,
  NACRE_INTERNAL = NACRE_PLUGIN_TYPES_ERROR_CODE_INTERNAL,
} nacre_code;

typedef enum { NACRE_TRACE, NACRE_DEBUG, NACRE_INFO, NACRE_WARN, NACRE_ERROR } nacre_level;

// What a plugin defines.

// Says what the plugin takes and gives. config.pbtxt is compared with it, or completed from it.
bool nacre_describe(const nacre_settings *settings, nacre_description *description, nacre_error *error);
// Reads parameters and files, builds tables.
bool nacre_configure(const nacre_settings *settings, nacre_error *error);
// Answers one request: one element of a client's batch. Adds its outputs to `response`.
bool nacre_process(const nacre_request *request, nacre_response *response, nacre_error *error);

// Errors and strings.

// Sets `error` to a sentence, as printf makes it: `return nacre_fail(error, NACRE_INVALID_ARGUMENT, "…", …);`
__attribute__((format(printf, 3, 4))) bool nacre_fail(nacre_error *error, nacre_code code, const char *format, ...);
// For printf's "%.*s".
#define NACRE_SHOW(string) (int)(string).len, (const char *)(string).ptr
// A word as a string that points to it.
nacre_string nacre_word(const char *word);
// Whether a string is that word.
bool nacre_is(nacre_string string, const char *word);
// Memory, filled with zeros, that is aligned for any number.
void *nacre_allocate(size_t bytes);

// Description.

// Dimensions, -1 for one that varies: NACRE_SHAPE(3, 224, 224).
#define NACRE_SHAPE(...) \
  ((nacre_shape){(int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})
void nacre_add_summary(nacre_description *description, const char *sentence);
void nacre_add_input(nacre_description *description, const char *name, nacre_type type, nacre_shape dims);
// One that a request may leave out.
void nacre_add_optional_input(nacre_description *description, const char *name, nacre_type type, nacre_shape dims);
void nacre_add_output(nacre_description *description, const char *name, nacre_type type, nacre_shape dims);

// Parameters of config.pbtxt and files of the model's folder.

// The text of a parameter, or NULL.
const nacre_string *nacre_parameter(const nacre_settings *settings, const char *name);
// A parameter as a number, true or false, or text; `otherwise` if it is not set.
bool nacre_float(const nacre_settings *settings, const char *name, float otherwise, float *value, nacre_error *error);
bool nacre_integer(const nacre_settings *settings, const char *name, int64_t otherwise, int64_t *value, nacre_error *error);
bool nacre_truth(const nacre_settings *settings, const char *name, bool otherwise, bool *value, nacre_error *error);
nacre_string nacre_text(const nacre_settings *settings, const char *name, const char *otherwise);
// The whole file at a path relative to the model's folder.
bool nacre_read_file(nacre_string path, nacre_string *contents, nacre_error *error);

// Inputs.

// The input of that name, which must be there, or NULL.
const nacre_tensor *nacre_input(const nacre_request *request, const char *name, nacre_type type, nacre_error *error);
// The input of that name if the request has it. Its type is what config.pbtxt says.
const nacre_tensor *nacre_find(const nacre_request *request, const char *name);
// Number of elements.
size_t nacre_elements(const nacre_tensor *tensor);
// The elements, in order, last dimension innermost: `const float *x = nacre_values(tensor);` Not for BYTES.
const void *nacre_values(const nacre_tensor *tensor);
// Elements of BYTES, one after the other; false after the last: `for (size_t at = 0; nacre_next(tensor, &at, &text);)`
bool nacre_next(const nacre_tensor *tensor, size_t *at, nacre_string *element);

// Outputs.

// Adds an output and returns the place of its values, zeros yet: `float *y = nacre_output(…);` Not for BYTES.
void *nacre_output(nacre_response *response, const char *name, nacre_type type, nacre_shape shape);
// Whether the client wants that output; if not, it may be left out.
bool nacre_wants(const nacre_request *request, const char *name);
// Strings that become an output of BYTES; begins as {0}.
typedef struct {
  uint8_t *data;
  size_t length, capacity;
} nacre_strings;
void nacre_append(nacre_strings *strings, const void *text, size_t length);
__attribute__((format(printf, 2, 3))) void nacre_append_format(nacre_strings *strings, const char *format, ...);
// Adds them as an output, which takes their memory. As many as `shape` says.
void nacre_output_strings(nacre_response *response, const char *name, nacre_shape shape, nacre_strings *strings);

// The server.

// Writes a line to its log.
__attribute__((format(printf, 2, 3))) void nacre_log(nacre_level level, const char *format, ...);
// Metrics without labels, published as nacre_plugin_custom_<name>: a counter, a gauge, a histogram.
void nacre_metric_add(const char *name, double amount);
void nacre_metric_set(const char *name, double value);
void nacre_metric_observe(const char *name, double value);
// A tensor for a call that borrows its name and data, of `bytes` bytes.
nacre_tensor nacre_borrow(const char *name, nacre_type type, nacre_shape shape, const void *data, size_t bytes);
// Calls another model, which config.pbtxt grants by parameter NACRE_MODELS.
bool nacre_infer(const char *model, const nacre_tensor *inputs, size_t count, nacre_response *response, nacre_error *error);
// An output of its answer, which must be there, or NULL.
const nacre_tensor *nacre_answer(const nacre_response *response, const char *name, nacre_type type, nacre_error *error);

#ifdef __cplusplus
}
#endif
#endif
