// Names the highest scores of a classifier.
//
// - input `scores`: FP32 [n], one for each class
// - outputs, the highest first: `label` BYTES [k], `index` INT32 [k], `probability` FP32 [k]
//
// Parameters: `k` (5), `labels` (labels.txt: a file in the model's folder, one label a line, the first for index 0),
// `softmax` (true: the scores are logits and their softmax is the probability; false: they are handed on).

#include <math.h>
#include <string.h>

#include "nacre.h"

// What `configure` leaves for `process`.
static int64_t k;
static bool softmax;
static nacre_string file;
static nacre_string *labels;
static size_t label_count;

// Parameters.

static bool read_parameters(const nacre_settings *settings, nacre_error *error) {
  file = nacre_text(settings, "labels", "labels.txt");
  if (!nacre_integer(settings, "k", 5, &k, error) || !nacre_truth(settings, "softmax", true, &softmax, error)) return false;
  if (k < 1) return nacre_fail(error, NACRE_INVALID_ARGUMENT, "parameter 'k' is %lld: expected 1 or more", (long long)k);
  return true;
}

// Labels.

// Splits `text`, which stays where it is, into lines. Empty lines at the end are none.
static void split_lines(nacre_string text) {
  while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
  label_count = text.len > 0 ? 1 : 0;
  for (size_t i = 0; i < text.len; i++) label_count += text.ptr[i] == '\n';
  labels = nacre_allocate(label_count * sizeof *labels);

  uint8_t *at = text.ptr, *end = text.ptr + text.len;
  for (size_t i = 0; i < label_count; i++) {
    uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
    uint8_t *stop = newline != NULL ? newline : end;
    size_t width = (size_t)(stop - at);
    if (width > 0 && at[width - 1] == '\r') width--;
    labels[i] = (nacre_string){at, width};
    at = stop + 1;
  }
}

bool nacre_describe(const nacre_settings *settings, nacre_description *description, nacre_error *error) {
  if (!read_parameters(settings, error)) return false;
  nacre_add_summary(description, "names the highest scores of a classifier");
  nacre_add_input(description, "scores", NACRE_FP32, NACRE_SHAPE(-1));
  nacre_add_output(description, "label", NACRE_BYTES, NACRE_SHAPE(k));
  nacre_add_output(description, "index", NACRE_INT32, NACRE_SHAPE(k));
  nacre_add_output(description, "probability", NACRE_FP32, NACRE_SHAPE(k));
  return true;
}

bool nacre_configure(const nacre_settings *settings, nacre_error *error) {
  nacre_string text;
  // The host's reason names the file and where it was looked for.
  if (!read_parameters(settings, error) || !nacre_read_file(file, &text, error)) return false;
  split_lines(text);
  if (label_count < (size_t)k) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "file '%.*s' has %zu labels, fewer than parameter 'k' (%lld)",
                      NACRE_SHOW(file), label_count, (long long)k);
  }
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

// The `count` classes with the highest scores of `n`, in order.
static void find_highest(const float *scores, size_t n, int32_t *top, size_t count) {
  for (size_t i = 0; i < count; i++) top[i] = (int32_t)i;
  for (size_t i = count; i-- > 0;) sift_down(scores, top, count, i);
  for (size_t i = count; i < n; i++) {
    if (is_after(scores, top[0], (int32_t)i)) {
      top[0] = (int32_t)i;
      sift_down(scores, top, count, 0);
    }
  }
  while (count > 1) {
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

bool nacre_process(const nacre_request *request, nacre_response *response, nacre_error *error) {
  const nacre_tensor *input = nacre_input(request, "scores", NACRE_FP32, error);
  if (input == NULL) return false;
  const float *scores = nacre_values(input);
  const size_t n = nacre_elements(input);
  const size_t count = (size_t)k;

  if (n < count) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' has %zu values, fewer than parameter 'k' of the plugin (%zu)",
                      n, count);
  }
  if (n > label_count) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT,
                      "input 'scores' has %zu values, but file '%.*s' has only %zu labels: a line for each is needed", n,
                      NACRE_SHOW(file), label_count);
  }
  size_t nan = first_nan(scores, n);
  if (nan < n) {
    return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' is not a number (NaN) at index %zu", nan);
  }

  nacre_shape shape = NACRE_SHAPE(k);
  int32_t *top = nacre_output(response, "index", NACRE_INT32, shape);
  find_highest(scores, n, top, count);

  float *probability = nacre_output(response, "probability", NACRE_FP32, shape);
  if (softmax) {
    // Relative to the highest, so that no power of e overflows.
    const float highest = scores[top[0]];
    if (isinf(highest)) {
      return nacre_fail(error, NACRE_INVALID_ARGUMENT, "input 'scores' is infinite at index %d, of which there is no softmax",
                        (int)top[0]);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += expf(scores[i] - highest);
    for (size_t i = 0; i < count; i++) probability[i] = (float)(expf(scores[top[i]] - highest) / sum);
  } else {
    for (size_t i = 0; i < count; i++) probability[i] = scores[top[i]];
  }

  nacre_strings names = {0};
  for (size_t i = 0; i < count; i++) nacre_append(&names, labels[top[i]].ptr, labels[top[i]].len);
  nacre_output_strings(response, "label", shape, &names);
  return true;
}
