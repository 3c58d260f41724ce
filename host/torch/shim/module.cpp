// Loading a module and learning what it takes and gives.

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>

#include "shim.h"

namespace {

// The kind of a TorchScript type.
int32_t kind_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return NACRE_TENSOR;
    case c10::TypeKind::OptionalType:
      return kind_of(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType: {
      const auto element = type->expectRef<c10::ListType>().getElementType()->kind();
      if (element == c10::TypeKind::StringType) return NACRE_STRINGS;
      return element == c10::TypeKind::TensorType ? NACRE_TENSOR_LIST : NACRE_OTHER;
    }
    case c10::TypeKind::DictType: {
      const auto& dict = type->expectRef<c10::DictType>();
      const bool tensors = dict.getKeyType()->kind() == c10::TypeKind::StringType &&
                           dict.getValueType()->kind() == c10::TypeKind::TensorType;
      return tensors ? NACRE_TENSOR_DICT : NACRE_OTHER;
    }
    default:
      return NACRE_OTHER;
  }
}

// Says for each argument whether forward writes into it. A graph that cannot be analysed may write into all of them.
std::vector<bool> overwritten(const torch::jit::Module& module, size_t arguments) {
  try {
    auto graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::AliasDb aliases(graph);
    std::vector<bool> written;
    // The first input is self.
    for (size_t i = 1; i < graph->inputs().size(); ++i) {
      written.push_back(aliases.hasWriters(graph->inputs()[i]));
    }
    written.resize(arguments, true);
    return written;
  } catch (...) {
    return std::vector<bool>(arguments, true);
  }
}

// Freezes and optimises; says what of it failed.
std::string optimize(torch::jit::Module& module, bool& frozen) {
  std::string failure;
  try {
    auto first = torch::jit::freeze(module);
    module = torch::jit::optimize_for_inference(first);
    frozen = true;
    return failure;
  } catch (const c10::Error& e) {
    failure = e.what_without_backtrace();
  } catch (const std::exception& e) {
    failure = e.what();
  }
  try {
    // The optimisation may have left its graph half done.
    module = torch::jit::freeze(module);
    frozen = true;
    return "it is frozen, but not optimised for inference: " + failure;
  } catch (const std::exception&) {
    return "it is neither frozen nor optimised for inference: " + failure;
  }
}

// Fills in what the schema of forward says.
void describe(NacreModule& made) {
  const auto& schema = made.module.get_method("forward").function().getSchema();
  for (const auto& argument : schema.arguments()) {
    if (&argument == &schema.arguments().front()) continue;
    const auto standard = argument.default_value();
    made.defaults.push_back(standard.value_or(c10::IValue()));
    made.arguments.push_back({made.keep(argument.name()), made.keep(argument.type()->annotation_str()),
                              kind_of(argument.type()),
                              standard.has_value() || argument.type()->kind() == c10::TypeKind::OptionalType, false});
  }
  const auto result = schema.returns().empty() ? c10::TypePtr(c10::NoneType::get()) : schema.returns().front().type();
  made.result_type = result->annotation_str();
  const auto add = [&](const c10::TypePtr& type) {
    made.outputs.push_back({nullptr, made.keep(type->annotation_str()), kind_of(type), false, false});
  };
  const auto kind = kind_of(result);
  made.outputs_known = kind != NACRE_TENSOR_LIST && kind != NACRE_TENSOR_DICT;
  if (const auto tuple = result->cast<c10::TupleType>()) {
    for (const auto& element : tuple->elements()) add(element);
  } else if (made.outputs_known) {
    add(result);
  }
}

}  // namespace

NacreError* nacre_module_load(const char* path, int32_t gpu, bool optimize_it, NacreModule** module, char** warning) {
  return nacre::guarded([&] {
    auto made = std::make_unique<NacreModule>();
    if (gpu >= 0) made->device = nacre::gpu(gpu);
    made->module = torch::jit::load(std::string(path), made->device);
    TORCH_CHECK(made->module.find_method("forward").has_value(), "the module has no method 'forward'");
    made->module.eval();
    describe(*made);
    bool frozen = false;
    const auto failure = optimize_it ? optimize(made->module, frozen) : std::string();
    // Freezing keeps as attributes just those that forward changes.
    made->stateless = frozen && made->module._ivalue()->type()->numAttributes() == 0;
    const auto written = overwritten(made->module, made->arguments.size());
    for (size_t i = 0; i < written.size(); ++i) made->arguments[i].overwritten = written[i];
    *warning = failure.empty() ? nullptr : nacre::text(failure);
    *module = made.release();
  });
}

const NacreArgument* nacre_module_arguments(const NacreModule* module, size_t* count) {
  *count = module->arguments.size();
  return module->arguments.data();
}

const NacreArgument* nacre_module_outputs(const NacreModule* module, size_t* count, bool* known) {
  *count = module->outputs.size();
  *known = module->outputs_known;
  return module->outputs.data();
}

const char* nacre_module_result_type(const NacreModule* module) { return module->result_type.c_str(); }

bool nacre_module_is_stateless(const NacreModule* module) { return module->stateless; }

void nacre_module_free(NacreModule* module) { delete module; }
