// Running a module: values in, outputs out, on the CPU or on a GPU whatever its make.

#include <cstring>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "shim.h"

struct NacreSession {
  torch::jit::Module module;
  c10::Device device = c10::kCPU;
  bool stateless = false;
  std::vector<c10::IValue> defaults;
  std::optional<c10::Stream> stream;
};

struct NacreResult {
  std::vector<NacreOutput> outputs;
  std::vector<std::unique_ptr<NacreStorage>> storages;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::unique_ptr<std::string>> texts;
  double input_ms = 0.0;
  double output_ms = 0.0;

  const char* keep(std::string text) {
    texts.push_back(std::make_unique<std::string>(std::move(text)));
    return texts.back()->c_str();
  }
};

namespace {

// Owns what a value refers to until a tensor does.
class Owner {
 public:
  Owner(void* owner, void (*release)(void*)) : owner_(owner), release_(release) {}
  Owner(Owner&& other) noexcept : owner_(other.owner_), release_(other.release_) { other.owner_ = nullptr; }
  Owner(const Owner&) = delete;
  ~Owner() {
    if (owner_ != nullptr) release_(owner_);
  }
  void* take() {
    void* owner = owner_;
    owner_ = nullptr;
    return owner;
  }

 private:
  void* owner_;
  void (*release_)(void*);
};

// A tensor over the value's bytes.
at::Tensor tensor_of(const NacreValue& value, Owner& owner, void (*release)(void*)) {
  const c10::IntArrayRef shape(value.shape, value.rank);
  const auto options = at::TensorOptions().dtype(static_cast<c10::ScalarType>(value.data_type));
  // Nothing to refer to; some operators look at the pointer all the same.
  if (value.size == 0) return at::empty(shape, options);
  auto tensor = at::for_blob(const_cast<uint8_t*>(value.data), shape)
                    .context(owner.take(), release)
                    .options(options)
                    .target_device(c10::Device(c10::kCPU))
                    .make_tensor();
  return value.copy ? tensor.clone() : tensor;
}

// The elements of a BYTES tensor.
c10::List<std::string> strings_of(const NacreValue& value) {
  c10::List<std::string> strings;
  size_t at = 0;
  while (at + 4 <= value.size) {
    uint32_t length = 0;
    for (int i = 3; i >= 0; --i) length = length << 8 | value.data[at + i];
    at += 4;
    TORCH_CHECK(length <= value.size - at, "an element of a BYTES tensor runs past its end");
    strings.push_back(std::string(reinterpret_cast<const char*>(value.data + at), length));
    at += length;
  }
  return strings;
}

// The arguments of forward, on the session's device. `host` keeps what the device still reads.
std::vector<c10::IValue> arguments_of(const NacreSession& session, const NacreRun& run, const NacreValue* values,
                                      std::vector<Owner>& owners, std::vector<at::Tensor>& host) {
  std::vector<c10::IValue> arguments;
  c10::Dict<std::string, at::Tensor> dict;
  c10::List<at::Tensor> list;
  arguments.reserve(owners.size());
  for (size_t i = 0; i < owners.size(); ++i) {
    if (values[i].kind == NACRE_STRINGS) {
      arguments.emplace_back(strings_of(values[i]));
      continue;
    }
    if (values[i].kind != NACRE_TENSOR) {
      if (run.container == 0) arguments.push_back(session.defaults.at(i));
      continue;
    }
    auto tensor = tensor_of(values[i], owners[i], run.release);
    if (session.stream.has_value()) {
      host.push_back(tensor);
      tensor = tensor.to(session.device, tensor.scalar_type(), /*non_blocking=*/true);
    }
    if (run.container == NACRE_TENSOR_DICT) {
      dict.insert(values[i].key, std::move(tensor));
    } else if (run.container == NACRE_TENSOR_LIST) {
      list.push_back(std::move(tensor));
    } else {
      arguments.emplace_back(std::move(tensor));
    }
  }
  if (run.container == NACRE_TENSOR_DICT) arguments.emplace_back(std::move(dict));
  if (run.container == NACRE_TENSOR_LIST) arguments.emplace_back(std::move(list));
  return arguments;
}

// Adds a tensor in host memory, row by row; copied only where it is not so already, or where the model could change it
// later.
void add_tensor(NacreResult& result, NacreOutput& output, at::Tensor tensor, bool copy) {
  output.type = c10::toString(tensor.scalar_type());
  if (tensor.layout() != c10::kStrided) tensor = tensor.to_dense();
  tensor = tensor.resolve_conj().resolve_neg().contiguous();
  if (!tensor.device().is_cpu()) {
    auto pinned = at::empty(tensor.sizes(), tensor.options().device(c10::kCPU).pinned_memory(true));
    pinned.copy_(tensor, /*non_blocking=*/true);
    tensor = std::move(pinned);
  } else if (copy) {
    tensor = tensor.clone();
  }
  output.kind = NACRE_TENSOR;
  output.data_type = static_cast<int32_t>(tensor.scalar_type());
  output.size = tensor.nbytes();
  output.data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  result.shapes.push_back(tensor.sizes().vec());
  output.shape = result.shapes.back().data();
  output.rank = result.shapes.back().size();
  result.storages.back() = std::make_unique<NacreStorage>(NacreStorage{std::move(tensor)});
}

// Adds strings in the representation of BYTES.
void add_strings(NacreResult& result, NacreOutput& output, const c10::List<c10::IValue>& strings) {
  size_t size = 0;
  for (const c10::IValue& item : strings) size += 4 + item.toStringRef().size();
  auto packed = at::empty({static_cast<int64_t>(size)}, at::kByte);
  auto* to = packed.data_ptr<uint8_t>();
  for (const c10::IValue& item : strings) {
    const auto& text = item.toStringRef();
    for (int i = 0; i < 4; ++i) *to++ = static_cast<uint8_t>(text.size() >> (8 * i));
    std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
  output.kind = NACRE_STRINGS;
  output.count = strings.size();
  output.size = size;
  output.data = packed.const_data_ptr<uint8_t>();
  output.type = "List[str]";
  result.storages.back() = std::make_unique<NacreStorage>(NacreStorage{std::move(packed)});
}

// Adds one output.
void add(NacreResult& result, const c10::IValue& value, const char* key, bool copy) {
  NacreOutput output{};
  output.key = key;
  result.storages.emplace_back();
  if (value.isTensor() && value.toTensor().defined()) {
    add_tensor(result, output, value.toTensor(), copy);
  } else if (value.isList() && value.toList().elementType()->kind() == c10::TypeKind::StringType) {
    add_strings(result, output, value.toList());
  } else {
    output.kind = NACRE_OTHER;
    output.type = result.keep(value.type()->annotation_str());
  }
  result.outputs.push_back(output);
}

// Adds the elements of a tuple, list or dictionary, else the value itself.
void flatten(NacreResult& result, const c10::IValue& value, bool copy) {
  if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) add(result, element, nullptr, copy);
  } else if (value.isGenericDict() && value.toGenericDict().keyType()->kind() == c10::TypeKind::StringType) {
    for (const auto& entry : value.toGenericDict()) {
      add(result, entry.value(), result.keep(entry.key().toStringRef()), copy);
    }
  } else if (value.isList() && value.toList().elementType()->kind() != c10::TypeKind::StringType) {
    for (const c10::IValue& element : value.toList()) add(result, element, nullptr, copy);
  } else {
    add(result, value, nullptr, copy);
  }
}

// A stream in use. Times what runs on it, and waits for it at the end, whatever happens, because copies that are under
// way read and write host memory.
class StreamScope {
 public:
  explicit StreamScope(const std::optional<c10::Stream>& stream) : stream_(stream) {
    if (stream.has_value()) guard_.emplace(*stream);
  }
  StreamScope(const StreamScope&) = delete;
  ~StreamScope() {
    try {
      if (stream_.has_value() && !waited_) stream_->synchronize();
    } catch (...) {
      // The error that led here is the one to report.
    }
  }
  // Marks a moment of the stream.
  void mark() {
    if (!stream_.has_value()) return;
    marks_.emplace_back(stream_->device_type(), c10::EventFlag::BACKEND_DEFAULT);
    marks_.back().record(*stream_);
  }
  // Waits until all that was begun is done.
  void wait() {
    if (stream_.has_value()) stream_->synchronize();
    waited_ = true;
  }
  // Milliseconds from a mark to the next; 0 where the device does not measure.
  double since(size_t mark) const {
    if (mark + 1 >= marks_.size()) return 0.0;
    try {
      return marks_[mark].elapsedTime(marks_[mark + 1]);
    } catch (...) {
      return 0.0;
    }
  }

 private:
  std::optional<c10::Stream> stream_;
  std::optional<c10::StreamGuard> guard_;
  std::vector<c10::Event> marks_;
  bool waited_ = false;
};

}  // namespace

NacreError* nacre_session_new(const NacreModule* module, bool share, NacreSession** session) {
  return nacre::guarded([&] {
    auto made = std::make_unique<NacreSession>();
    made->module = share ? module->module : module->module.deepcopy();
    made->device = module->device;
    made->stateless = module->stateless;
    made->defaults = module->defaults;
    if (!made->device.is_cpu()) {
      made->stream = c10::impl::VirtualGuardImpl(made->device.type()).getStreamFromGlobalPool(made->device);
    }
    *session = made.release();
  });
}

void nacre_session_free(NacreSession* session) { delete session; }

NacreError* nacre_session_run(NacreSession* session, const NacreRun* run, const NacreValue* values, size_t count,
                              NacreResult** result) {
  return nacre::guarded([&] {
    std::vector<Owner> owners;
    owners.reserve(count);
    for (size_t i = 0; i < count; ++i) owners.emplace_back(values[i].owner, run->release);
    const c10::InferenceMode inference(run->inference_mode);
    const c10::AutoGradMode no_gradients(false);
    const torch::jit::GraphOptimizerEnabledGuard optimized(run->optimized_execution);
    // Before the scope: it is to outlive the copies from it.
    std::vector<at::Tensor> host;
    auto made = std::make_unique<NacreResult>();
    StreamScope scope(session->stream);
    scope.mark();
    auto arguments = arguments_of(*session, *run, values, owners, host);
    scope.mark();
    const auto value = session->module.forward(std::move(arguments));
    scope.mark();
    flatten(*made, value, !session->stateless);
    scope.mark();
    scope.wait();
    made->input_ms = scope.since(0);
    made->output_ms = scope.since(2);
    *result = made.release();
  });
}

const NacreOutput* nacre_result_outputs(const NacreResult* result, size_t* count) {
  *count = result->outputs.size();
  return result->outputs.data();
}

NacreStorage* nacre_result_take(NacreResult* result, size_t index) {
  return index < result->storages.size() ? result->storages[index].release() : nullptr;
}

void nacre_result_times(const NacreResult* result, double* input_ms, double* output_ms) {
  *input_ms = result->input_ms;
  *output_ms = result->output_ms;
}

void nacre_result_free(NacreResult* result) { delete result; }
