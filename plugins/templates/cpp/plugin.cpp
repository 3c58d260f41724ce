// {{name}}: multiplies numbers, adds to them, and greets.
//
// - input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
// - input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape
//
// Parameters of config.pbtxt: `factor` (1), `offset` (0).

#include <vector>

#include "nacre.hpp"

class Plugin {
 public:
  nacre::Result<nacre::Description> describe(const nacre::Settings &) {
    return nacre::Description("multiplies numbers, adds to them, and greets")
        .input("x", NACRE_FP32, {-1})
        .optional_input("names", NACRE_BYTES, {-1})
        .output("y", NACRE_FP32, {-1})
        .output("greetings", NACRE_BYTES, {-1});
  }

  nacre::Result<void> configure(const nacre::Settings &settings) {
    NACRE_TRY(factor, settings.number("factor", 1));
    NACRE_TRY(offset, settings.number("offset", 0));
    factor_ = factor;
    offset_ = offset;
    return {};
  }

  nacre::Result<nacre::Response> process(const nacre::Request &request) {
    nacre::Response response;
    NACRE_TRY(input, request.input<float>("x"));
    auto x = input.values<float>();
    auto y = response.add<float>("y", input.shape());
    for (std::size_t i = 0; i < x.size(); i++) y[i] = x[i] * factor_ + offset_;

    if (auto names = request.find("names")) {
      std::vector<std::string> greetings;
      for (auto name : names->strings()) greetings.push_back("hello, " + std::string(name));
      response.add_strings("greetings", names->shape(), greetings);
    }
    return response;
  }

 private:
  float factor_ = 1, offset_ = 0;
};

NACRE_EXPORT(Plugin);
