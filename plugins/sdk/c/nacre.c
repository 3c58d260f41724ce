// What nacre.h declares, and the component's exports.

#include "nacre.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TYPE_NAMES[] = {"BOOL",  "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16",
                                         "INT32", "INT64", "FP16",   "BF16",   "FP32",   "FP64", "BYTES"};
static const uint8_t TYPE_SIZES[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 0};

static _Noreturn void out_of_memory(size_t bytes) {
  fprintf(stderr, "out of memory: %zu more bytes cannot be had\n", bytes);
  abort();
}

void *nacre_allocate(size_t bytes) {
  void *memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) out_of_memory(bytes);
  return memory;
}

// A list with room for one entry more.
static void *grow(void *list, size_t count, size_t entry_bytes) {
  void *longer = realloc(list, (count + 1) * entry_bytes);
  if (longer == NULL) out_of_memory((count + 1) * entry_bytes);
  return longer;
}

// Errors and strings.

static nacre_string copy(const void *text, size_t length) {
  nacre_string string = {nacre_allocate(length), length};
  if (length > 0) memcpy(string.ptr, text, length);
  return string;
}

static nacre_string format_text(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0) return copy("", 0);
  nacre_string string = {nacre_allocate((size_t)length + 1), (size_t)length};
  vsnprintf((char *)string.ptr, (size_t)length + 1, format, arguments);
  return string;
}

bool nacre_fail(nacre_error *error, nacre_code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error->message = format_text(format, arguments);
  va_end(arguments);
  error->code = (uint8_t)code;
  return false;
}

nacre_string nacre_word(const char *word) { return (nacre_string){(uint8_t *)(uintptr_t)word, strlen(word)}; }

bool nacre_is(nacre_string string, const char *word) {
  return string.len == strlen(word) && memcmp(string.ptr, word, string.len) == 0;
}

// Description.

static nacre_shape copy_shape(nacre_shape shape) {
  nacre_shape copied = {nacre_allocate(shape.len * sizeof *shape.ptr), shape.len};
  if (shape.len > 0) memcpy(copied.ptr, shape.ptr, shape.len * sizeof *shape.ptr);
  return copied;
}

static void add_spec(exports_nacre_plugin_step_list_tensor_spec_t *list, const char *name, nacre_type type,
                     nacre_shape dims, bool optional) {
  list->ptr = grow(list->ptr, list->len, sizeof *list->ptr);
  list->ptr[list->len++] = (nacre_tensor_spec){copy(name, strlen(name)), (uint8_t)type, copy_shape(dims), optional};
}

void nacre_add_summary(nacre_description *description, const char *sentence) {
  description->summary = copy(sentence, strlen(sentence));
}

void nacre_add_input(nacre_description *description, const char *name, nacre_type type, nacre_shape dims) {
  add_spec(&description->inputs, name, type, dims, false);
}

void nacre_add_optional_input(nacre_description *description, const char *name, nacre_type type, nacre_shape dims) {
  add_spec(&description->inputs, name, type, dims, true);
}

void nacre_add_output(nacre_description *description, const char *name, nacre_type type, nacre_shape dims) {
  add_spec(&description->outputs, name, type, dims, false);
}

// Parameters and files.

const nacre_string *nacre_parameter(const nacre_settings *settings, const char *name) {
  for (size_t i = 0; i < settings->parameters.len; i++) {
    if (nacre_is(settings->parameters.ptr[i].f0, name)) return &settings->parameters.ptr[i].f1;
  }
  return NULL;
}

// Copies a parameter's text to where strtof and strtoll can end it; false if it is none that a number can have.
static bool digits_of(const nacre_string *text, char digits[64]) {
  if (text->len == 0 || text->len >= 64) return false;
  memcpy(digits, text->ptr, text->len);
  digits[text->len] = '\0';
  return true;
}

static bool wrong(const char *name, const nacre_string *text, const char *expected, nacre_error *error) {
  return nacre_fail(error, NACRE_INVALID_ARGUMENT, "parameter '%s' is '%.*s': expected %s", name, NACRE_SHOW(*text), expected);
}

bool nacre_float(const nacre_settings *settings, const char *name, float otherwise, float *value, nacre_error *error) {
  const nacre_string *text = nacre_parameter(settings, name);
  *value = otherwise;
  if (text == NULL) return true;
  char digits[64], *end = digits;
  if (digits_of(text, digits)) *value = strtof(digits, &end);
  return (end != digits && *end == '\0') || wrong(name, text, "a number", error);
}

bool nacre_integer(const nacre_settings *settings, const char *name, int64_t otherwise, int64_t *value, nacre_error *error) {
  const nacre_string *text = nacre_parameter(settings, name);
  *value = otherwise;
  if (text == NULL) return true;
  char digits[64], *end = digits;
  if (digits_of(text, digits)) *value = strtoll(digits, &end, 10);
  return (end != digits && *end == '\0') || wrong(name, text, "a whole number", error);
}

bool nacre_truth(const nacre_settings *settings, const char *name, bool otherwise, bool *value, nacre_error *error) {
  const nacre_string *text = nacre_parameter(settings, name);
  *value = text == NULL ? otherwise : nacre_is(*text, "true");
  return text == NULL || *value || nacre_is(*text, "false") || wrong(name, text, "true or false", error);
}

nacre_string nacre_text(const nacre_settings *settings, const char *name, const char *otherwise) {
  const nacre_string *text = nacre_parameter(settings, name);
  return text != NULL ? *text : nacre_word(otherwise);
}

bool nacre_read_file(nacre_string path, nacre_string *contents, nacre_error *error) {
  plugin_list_u8_t bytes;
  if (!nacre_plugin_files_read(&path, &bytes, error)) return false;
  *contents = (nacre_string){bytes.ptr, bytes.len};
  return true;
}

// Tensors.

static const nacre_tensor *find(const nacre_plugin_types_list_tensor_t *list, const char *name) {
  for (size_t i = 0; i < list->len; i++) {
    if (nacre_is(list->ptr[i].name, name)) return &list->ptr[i];
  }
  return NULL;
}

// `tensor`, if it is there and of that type.
static const nacre_tensor *checked(const nacre_tensor *tensor, const char *what, const char *name, nacre_type type,
                                   nacre_error *error) {
  if (tensor == NULL) {
    nacre_fail(error, NACRE_INVALID_ARGUMENT, "%s '%s' is missing", what, name);
    return NULL;
  }
  if (tensor->data_type != (uint8_t)type) {
    nacre_fail(error, NACRE_INVALID_ARGUMENT, "%s '%s' is %s: expected %s", what, name, TYPE_NAMES[tensor->data_type],
               TYPE_NAMES[type]);
    return NULL;
  }
  return tensor;
}

const nacre_tensor *nacre_find(const nacre_request *request, const char *name) { return find(&request->inputs, name); }

const nacre_tensor *nacre_input(const nacre_request *request, const char *name, nacre_type type, nacre_error *error) {
  return checked(nacre_find(request, name), "input", name, type, error);
}

static size_t count_of(nacre_shape shape) {
  size_t count = 1;
  for (size_t i = 0; i < shape.len; i++) count *= (size_t)shape.ptr[i];
  return count;
}

size_t nacre_elements(const nacre_tensor *tensor) { return count_of(tensor->shape); }

const void *nacre_values(const nacre_tensor *tensor) { return tensor->data.ptr; }

bool nacre_next(const nacre_tensor *tensor, size_t *at, nacre_string *element) {
  uint32_t length;
  if (tensor->data.len - *at < sizeof length) return false;
  // WebAssembly is little-endian, as tensors are.
  memcpy(&length, tensor->data.ptr + *at, sizeof length);
  *at += sizeof length;
  if (tensor->data.len - *at < length) return false;
  *element = (nacre_string){tensor->data.ptr + *at, length};
  *at += length;
  return true;
}

static void add_output(nacre_response *response, const char *name, nacre_type type, nacre_shape shape, void *data,
                       size_t bytes) {
  nacre_plugin_types_list_tensor_t *list = &response->outputs;
  list->ptr = grow(list->ptr, list->len, sizeof *list->ptr);
  list->ptr[list->len++] = (nacre_tensor){copy(name, strlen(name)), (uint8_t)type, copy_shape(shape), {data, bytes}};
}

void *nacre_output(nacre_response *response, const char *name, nacre_type type, nacre_shape shape) {
  size_t bytes = count_of(shape) * TYPE_SIZES[type];
  void *data = nacre_allocate(bytes);
  add_output(response, name, type, shape, data, bytes);
  return data;
}

bool nacre_wants(const nacre_request *request, const char *name) {
  for (size_t i = 0; i < request->requested_outputs.len; i++) {
    if (nacre_is(request->requested_outputs.ptr[i], name)) return true;
  }
  return request->requested_outputs.len == 0;
}

// Appends an element's length and makes room for its text.
static uint8_t *append(nacre_strings *strings, uint32_t length) {
  size_t needed = strings->length + sizeof length + length;
  if (needed > strings->capacity) {
    strings->capacity = needed > 2 * strings->capacity ? needed : 2 * strings->capacity;
    uint8_t *data = realloc(strings->data, strings->capacity);
    if (data == NULL) out_of_memory(strings->capacity);
    strings->data = data;
  }
  uint8_t *place = strings->data + strings->length;
  memcpy(place, &length, sizeof length);
  strings->length = needed;
  return place + sizeof length;
}

void nacre_append(nacre_strings *strings, const void *text, size_t length) {
  uint8_t *place = append(strings, (uint32_t)length);
  if (length > 0) memcpy(place, text, length);
}

void nacre_append_format(nacre_strings *strings, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  nacre_string text = format_text(format, arguments);
  va_end(arguments);
  nacre_append(strings, text.ptr, text.len);
  free(text.ptr);
}

void nacre_output_strings(nacre_response *response, const char *name, nacre_shape shape, nacre_strings *strings) {
  add_output(response, name, NACRE_BYTES, shape, strings->data, strings->length);
  *strings = (nacre_strings){0};
}

// The server.

void nacre_log(nacre_level level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  nacre_string line = format_text(format, arguments);
  va_end(arguments);
  plugin_list_tuple2_string_string_t none = {0};
  nacre_plugin_log_write((uint8_t)level, &line, &none);
  free(line.ptr);
}

void nacre_metric_add(const char *name, double amount) {
  nacre_string word = nacre_word(name);
  plugin_list_tuple2_string_string_t none = {0};
  nacre_plugin_metrics_add(&word, amount, &none);
}

void nacre_metric_set(const char *name, double value) {
  nacre_string word = nacre_word(name);
  plugin_list_tuple2_string_string_t none = {0};
  nacre_plugin_metrics_set(&word, value, &none);
}

void nacre_metric_observe(const char *name, double value) {
  nacre_string word = nacre_word(name);
  plugin_list_tuple2_string_string_t none = {0};
  nacre_plugin_metrics_observe(&word, value, &none);
}

nacre_tensor nacre_borrow(const char *name, nacre_type type, nacre_shape shape, const void *data, size_t bytes) {
  return (nacre_tensor){nacre_word(name), (uint8_t)type, shape, {(uint8_t *)(uintptr_t)data, bytes}};
}

bool nacre_infer(const char *model, const nacre_tensor *inputs, size_t count, nacre_response *response,
                 nacre_error *error) {
  nacre_plugin_models_call_t call = {0};
  call.model = nacre_word(model);
  call.request.inputs.ptr = (nacre_tensor *)(uintptr_t)inputs;
  call.request.inputs.len = count;
  return nacre_plugin_models_infer(&call, response, error);
}

const nacre_tensor *nacre_answer(const nacre_response *response, const char *name, nacre_type type,
                                 nacre_error *error) {
  return checked(find(&response->outputs, name), "the called model's output", name, type, error);
}

// The component's exports. Arguments are this side's to free, and are freed with the instance.

bool exports_nacre_plugin_step_describe(nacre_settings *settings, nacre_description *description, nacre_error *error) {
  *description = (nacre_description){0};
  return nacre_describe(settings, description, error);
}

bool exports_nacre_plugin_step_configure(nacre_settings *settings, nacre_error *error) {
  return nacre_configure(settings, error);
}

bool exports_nacre_plugin_step_process(nacre_request *request, nacre_response *response, nacre_error *error) {
  *response = (nacre_response){0};
  bool worked = nacre_process(request, response, error);
  exports_nacre_plugin_step_request_free(request);
  return worked;
}
