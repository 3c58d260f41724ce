// What the parts of the shim share.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>
#include <torch/csrc/jit/api/module.h>

#include "nacre_torch.h"

struct NacreError {
  std::string text;
  std::string message;
  bool out_of_memory = false;
};

struct NacreStorage {
  at::Tensor tensor;
};

struct NacreModule {
  torch::jit::Module module;
  c10::Device device = c10::kCPU;
  bool stateless = false;
  // Of the original: freezing keeps the schema, but says nothing of it.
  std::vector<c10::IValue> defaults;
  std::vector<NacreArgument> arguments;
  std::vector<NacreArgument> outputs;
  bool outputs_known = false;
  std::string result_type;
  // The texts that arguments and outputs point to.
  std::vector<std::unique_ptr<std::string>> texts;

  const char* keep(std::string text) {
    texts.push_back(std::make_unique<std::string>(std::move(text)));
    return texts.back()->c_str();
  }
};

namespace nacre {

// The error for the exception that is being handled.
NacreError* caught();

// Runs `body` and turns whatever it throws into an error.
template <typename Body>
NacreError* guarded(Body&& body) {
  try {
    body();
    return nullptr;
  } catch (...) {
    return caught();
  }
}

// A copy of the text for the caller, who frees it with nacre_text_free.
char* text(const std::string& text);

// The GPU of that index.
c10::Device gpu(int32_t index);

}  // namespace nacre
