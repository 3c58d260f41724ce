// Names the highest scores of a classifier.
//
// - input `scores`: FP32 [n], one for each class
// - outputs, the highest first: `label` BYTES [k], `index` INT32 [k], `probability` FP32 [k]
//
// Parameters: `k` (5), `labels` (labels.txt: a file in the model's folder, one label a line, the first for index 0),
// `softmax` (true: the scores are logits and their softmax is the probability; false: they are handed on).

#include <math.h>

#include "nacre.h"

#define FP32 NACRE_PLUGIN_TYPES_DATA_TYPE_FP32
#define INT32 NACRE_PLUGIN_TYPES_DATA_TYPE_INT32
#define BYTES NACRE_PLUGIN_TYPES_DATA_TYPE_BYTES

struct options {
  size_t k;
  bool softmax;
  char file[256];
};

struct label {
  const uint8_t *text;
  size_t length;
};

// What `configure` leaves for `process`.
static struct {
  bool ready;
  struct options options;
  struct label *labels;
  size_t label_count;
} state;

// Parameters.

// Reads the parameters; false with the reason in `error`.
static bool read_options(const nacre_settings *settings, struct options *options, nacre_error *error) {
  *options = (struct options){.k = 5, .softmax = true, .file = "labels.txt"};

  const plugin_string_t *text = nacre_parameter(settings, "k");
  if (text != NULL) {
    char digits[12] = "";
    char *end = digits;
    long k = 0;
    if (text->len < sizeof digits) {
      memcpy(digits, text->ptr, text->len);
      k = strtol(digits, &end, 10);
    }
    if (k < 1 || *end != '\0') {
      return nacre_fail(error, NACRE_INVALID_ARGUMENT, "parameter 'k' is '%.*s': expected a whole number, 1 or more", NACRE_SHOW(*text));
    }
    options->k = (size_t)k;
  }

  text = nacre_parameter(settings, "softmax");
  if (text != NULL) {
    options->softmax = nacre_is(text, "true");
    if (!options->softmax && !nacre_is(text, "false")) {
      return nacre_fail(error, NACRE_INVALID_ARGUMENT, "parameter 'softmax' is '%.*s': expected true or false", NACRE_SHOW(*text));
    }
  }

  text = nacre_parameter(settings, "labels");
  if (text != NULL) {
    if (text->len == 0 || text->len >= sizeof options->file) {
      return nacre_fail(error, NACRE_INVALID_ARGUMENT, "parameter 'labels' is '%.*s': expected the name of a file, 1 to %zu bytes long",
                  NACRE_SHOW(*text), sizeof options->file - 1);
    }
    memcpy(options->file, text->ptr, text->len);
    options->file[text->len] = '\0';
  }
  return true;
}

// Labels.

// Splits `text`, which stays where it is, into lines. Empty lines at the end are none.
static bool split_lines(const uint8_t *text, size_t length, nacre_error *error) {
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) length--;
  size_t count = length > 0 ? 1 : 0;
  for (size_t i = 0; i < length; i++) count += text[i] == '\n';
  struct label *labels = malloc((count + 1) * sizeof *labels);
  if (labels == NULL) return nacre_fail(error, NACRE_INTERNAL, "out of memory for %zu labels", count);

  const uint8_t *end = text + length;
  for (size_t i = 0; i < count; i++) {
    const uint8_t *newline = memchr(text, '\n', (size_t)(end - text));
    const uint8_t *stop = newline != NULL ? newline : end;
    size_t width = (size_t)(stop - text);
    if (width > 0 && text[width - 1] == '\r') width--;
    labels[i] = (struct label){text, width};
    text = stop + 1;
  }
  state.labels = labels;
  state.label_count = count;
  return true;
}

bool exports_nacre_plugin_step_configure(nacre_settings *settings, nacre_error *error) {
  if (!read_options(settings, &state.options, error)) return false;
  plugin_string_t path;
  plugin_string_set(&path, state.options.file);
  plugin_list_u8_t text;
  // The host's reason names the file and where it was looked for.
  if (!nacre_plugin_files_read(&path, &text, error)) return false;
  if (!split_lines(text.ptr, text.len, error)) return false;
  if (state.label_count < state.options.k) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "file '%s' has %zu labels, fewer than parameter 'k' (%zu)", state.options.file,
                state.label_count, state.options.k);
  }
  state.ready = true;
  return true;
}

bool exports_nacre_plugin_step_describe(nacre_settings *settings, nacre_description *description, nacre_error *error) {
  struct options options;
  if (!read_options(settings, &options, error)) return false;
  nacre_tensor_spec *input = malloc(sizeof *input);
  nacre_tensor_spec *outputs = malloc(3 * sizeof *outputs);
  int64_t k = (int64_t)options.k;
  if (input == NULL || outputs == NULL || !nacre_set_spec(&input[0], "scores", FP32, -1) ||
      !nacre_set_spec(&outputs[0], "label", BYTES, k) || !nacre_set_spec(&outputs[1], "index", INT32, k) ||
      !nacre_set_spec(&outputs[2], "probability", FP32, k)) {
    return nacre_fail(error, NACRE_INTERNAL, "out of memory for the description");
  }
  plugin_string_dup(&description->summary, "names the highest scores of a classifier");
  description->inputs.ptr = input;
  description->inputs.len = 1;
  description->outputs.ptr = outputs;
  description->outputs.len = 3;
  return true;
}

// The step.

// Whether class `a` comes after class `b`: it has the lower score, or the higher index of two that are equal.
static bool is_after(const float *scores, int32_t a, int32_t b) {
  return scores[a] < scores[b] || (scores[a] == scores[b] && a > b);
}

// Restores a heap whose top is the class that comes last, after its element `at` has changed.
static void sift_down(const float *scores, int32_t *heap, size_t count, size_t at) {
  for (;;) {
    size_t last = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
      if (is_after(scores, heap[child], heap[last])) last = child;
    }
    if (last == at) return;
    int32_t swap = heap[at];
    heap[at] = heap[last];
    heap[last] = swap;
    at = last;
  }
}

// The `k` classes with the highest scores of `n`, in order.
static void top_k(const float *scores, size_t n, int32_t *top, size_t k) {
  for (size_t i = 0; i < k; i++) top[i] = (int32_t)i;
  for (size_t i = k; i-- > 0;) sift_down(scores, top, k, i);
  for (size_t i = k; i < n; i++) {
    if (is_after(scores, top[0], (int32_t)i)) {
      top[0] = (int32_t)i;
      sift_down(scores, top, k, 0);
    }
  }
  for (size_t count = k; count > 1;) {
    int32_t swap = top[0];
    top[0] = top[--count];
    top[count] = swap;
    sift_down(scores, top, count, 0);
  }
}

// Index of the first score that is not a number, or `n`.
static size_t first_nan(const float *scores, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (scores[i] != scores[i]) return i;
  }
  return n;
}

static bool process(const nacre_request *request, nacre_response *response, nacre_error *error) {
  if (!state.ready) return nacre_fail(error, NACRE_INTERNAL, "process was called before configure had succeeded");
  const nacre_tensor *input = nacre_input(request, "scores");
  if (input == NULL) return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' is missing");
  if (input->data_type != FP32) return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' must be FP32");
  // Allocations are aligned for any number.
  const float *scores = (const float *)(const void *)input->data.ptr;
  const size_t n = input->data.len / sizeof *scores;
  const size_t k = state.options.k;

  if (n < k) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' has %zu values, fewer than parameter 'k' of the plugin (%zu)", n, k);
  }
  if (n > state.label_count) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' has %zu values, but file '%s' has only %zu labels: a line for each is needed",
                n, state.options.file, state.label_count);
  }
  size_t nan = first_nan(scores, n);
  if (nan < n) return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' is not a number (NaN) at index %zu", nan);

  int32_t *top = malloc(k * sizeof *top);
  float *probability = malloc(k * sizeof *probability);
  struct label *label = malloc(k * sizeof *label);
  if (top == NULL || probability == NULL || label == NULL) {
    return nacre_fail(error, NACRE_INTERNAL, "out of memory for the %zu highest of %zu scores", k, n);
  }
  top_k(scores, n, top, k);
  if (state.options.softmax) {
    // Relative to the highest, so that no power of e overflows.
    const float highest = scores[top[0]];
    if (isinf(highest)) {
      return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' is infinite at index %d, of which there is no softmax", (int)top[0]);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += expf(scores[i] - highest);
    for (size_t i = 0; i < k; i++) probability[i] = (float)(expf(scores[top[i]] - highest) / sum);
  } else {
    for (size_t i = 0; i < k; i++) probability[i] = scores[top[i]];
  }

  size_t label_bytes = 0;
  for (size_t i = 0; i < k; i++) {
    label[i] = state.labels[top[i]];
    label_bytes += 4 + label[i].length;
  }
  uint8_t *labels = malloc(label_bytes);
  nacre_tensor *outputs = malloc(3 * sizeof *outputs);
  if (labels == NULL || outputs == NULL || !nacre_set_tensor(&outputs[0], "label", BYTES, k, labels, label_bytes) ||
      !nacre_set_tensor(&outputs[1], "index", INT32, k, top, k * sizeof *top) ||
      !nacre_set_tensor(&outputs[2], "probability", FP32, k, probability, k * sizeof *probability)) {
    return nacre_fail(error, NACRE_INTERNAL, "out of memory for the outputs");
  }
  uint8_t *at = labels;
  for (size_t i = 0; i < k; i++) {
    // WebAssembly is little-endian, as tensors are.
    uint32_t length = (uint32_t)label[i].length;
    memcpy(at, &length, 4);
    memcpy(at + 4, label[i].text, length);
    at += 4 + length;
  }
  free(label);
  response->outputs.ptr = outputs;
  response->outputs.len = 3;
  response->parameters.len = 0;
  response->parameters.ptr = NULL;
  return true;
}

bool exports_nacre_plugin_step_process(nacre_request *request, nacre_response *response, nacre_error *error) {
  bool worked = process(request, response, error);
  exports_nacre_plugin_step_request_free(request);
  return worked;
}
