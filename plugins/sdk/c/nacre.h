// What C plugins share beside the generated bindings (plugin.h): short names, errors as sentences, tensors.
//
// Memory: what a plugin returns is freed by the bindings, so names and data are allocated with malloc. What it is
// given is its own to free (`exports_nacre_plugin_step_request_free` and the like). An instance answers one request
// and is thrown away, so that a forgotten `free` costs nothing lasting.
#ifndef NACRE_H
#define NACRE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef exports_nacre_plugin_step_settings_t nacre_settings;
typedef exports_nacre_plugin_step_description_t nacre_description;
typedef nacre_plugin_types_request_t nacre_request;
typedef nacre_plugin_types_response_t nacre_response;
typedef nacre_plugin_types_tensor_t nacre_tensor;
typedef nacre_plugin_types_tensor_spec_t nacre_tensor_spec;
typedef nacre_plugin_types_error_t nacre_error;

// For "%.*s".
#define NACRE_SHOW(string) (int)(string).len, (const char *)(string).ptr

// Whose fault an error is; the server makes it a status.
enum nacre_fault {
  NACRE_INVALID_ARGUMENT = NACRE_PLUGIN_TYPES_ERROR_INVALID_ARGUMENT,
  NACRE_INTERNAL = NACRE_PLUGIN_TYPES_ERROR_INTERNAL,
};

// Sets `error` to a sentence, as printf makes it, and returns false: `return nacre_fail(error, ...);`
__attribute__((format(printf, 3, 4), unused)) static bool nacre_fail(nacre_error *error, enum nacre_fault fault,
                                                                      const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  error->tag = (uint8_t)fault;
  // Every case holds one string.
  plugin_string_dup(&error->val.internal, text);
  return false;
}

// Whether a string is that word.
__attribute__((unused)) static bool nacre_is(const plugin_string_t *string, const char *word) {
  return string->len == strlen(word) && memcmp(string->ptr, word, string->len) == 0;
}

// A parameter of config.pbtxt, or NULL.
__attribute__((unused)) static const plugin_string_t *nacre_parameter(const nacre_settings *settings,
                                                                       const char *name) {
  for (size_t i = 0; i < settings->parameters.len; i++) {
    if (nacre_is(&settings->parameters.ptr[i].f0, name)) return &settings->parameters.ptr[i].f1;
  }
  return NULL;
}

// An input of a request, or NULL.
__attribute__((unused)) static const nacre_tensor *nacre_input(const nacre_request *request, const char *name) {
  for (size_t i = 0; i < request->inputs.len; i++) {
    if (nacre_is(&request->inputs.ptr[i].name, name)) return &request->inputs.ptr[i];
  }
  return NULL;
}

// Fills in a description's entry of one dimension (-1: it varies). False if memory is out.
__attribute__((unused)) static bool nacre_set_spec(nacre_tensor_spec *spec, const char *name,
                                                    nacre_plugin_types_data_type_t type, int64_t dimension) {
  plugin_string_dup(&spec->name, name);
  spec->data_type = type;
  spec->optional = false;
  spec->dims.len = 1;
  spec->dims.ptr = malloc(sizeof *spec->dims.ptr);
  if (spec->dims.ptr == NULL) return false;
  spec->dims.ptr[0] = dimension;
  return true;
}

// Fills in a tensor of one dimension. `data`, from malloc, becomes the tensor's. False if memory is out.
__attribute__((unused)) static bool nacre_set_tensor(nacre_tensor *tensor, const char *name,
                                                      nacre_plugin_types_data_type_t type, size_t dimension,
                                                      void *data, size_t bytes) {
  plugin_string_dup(&tensor->name, name);
  tensor->data_type = type;
  tensor->data.ptr = data;
  tensor->data.len = bytes;
  tensor->shape.len = 1;
  tensor->shape.ptr = malloc(sizeof *tensor->shape.ptr);
  if (tensor->shape.ptr == NULL) return false;
  tensor->shape.ptr[0] = (int64_t)dimension;
  return true;
}

#endif
