// {{name}}: multiplies numbers, adds to them, and greets.
//
// - input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
// - input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape
//
// Parameters of config.pbtxt: `factor` (1), `offset` (0).

#include "nacre.h"

static float factor, offset;

bool nacre_describe(const nacre_settings *settings, nacre_description *description, nacre_error *error) {
  (void)settings, (void)error;
  nacre_add_summary(description, "multiplies numbers, adds to them, and greets");
  nacre_add_input(description, "x", NACRE_FP32, NACRE_SHAPE(-1));
  nacre_add_optional_input(description, "names", NACRE_BYTES, NACRE_SHAPE(-1));
  nacre_add_output(description, "y", NACRE_FP32, NACRE_SHAPE(-1));
  nacre_add_output(description, "greetings", NACRE_BYTES, NACRE_SHAPE(-1));
  return true;
}

bool nacre_configure(const nacre_settings *settings, nacre_error *error) {
  return nacre_float(settings, "factor", 1, &factor, error) && nacre_float(settings, "offset", 0, &offset, error);
}

bool nacre_process(const nacre_request *request, nacre_response *response, nacre_error *error) {
  const nacre_tensor *input = nacre_input(request, "x", NACRE_FP32, error);
  if (input == NULL) return false;
  const float *x = nacre_values(input);
  float *y = nacre_output(response, "y", NACRE_FP32, input->shape);
  for (size_t i = 0; i < nacre_elements(input); i++) y[i] = x[i] * factor + offset;

  const nacre_tensor *names = nacre_find(request, "names");
  if (names != NULL) {
    nacre_strings greetings = {0};
    nacre_string name;
    for (size_t at = 0; nacre_next(names, &at, &name);) nacre_append_format(&greetings, "hello, %.*s", NACRE_SHOW(name));
    nacre_output_strings(response, "greetings", names->shape, &greetings);
  }
  return true;
}
