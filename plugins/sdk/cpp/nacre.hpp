// Plugins in C++23: views instead of copies, values or errors instead of exceptions (which this target has not).
//
// A plugin is a class with `describe`, `configure` and `process`, made the component's by NACRE_EXPORT. The server makes
// one object when it loads the model, calls `describe` and `configure`, and keeps the memory that they leave. Each
// request begins with that memory, in an instance that no other request has seen. Memory that cannot be had ends the
// request (and only it) with a trap.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "nacre.h"

namespace nacre {

// Whose fault it is (the server makes that a status), and a sentence that reaches the client.
struct Error {
  nacre_code code;
  std::string message;
};

// A value, or why there is none.
template <class T>
using Result = std::expected<T, Error>;

// An error with a sentence as printf makes it: `return nacre::fail(NACRE_INVALID_ARGUMENT, "…", …);`
[[gnu::format(printf, 2, 3)]] inline std::unexpected<Error> fail(nacre_code code, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return std::unexpected(Error{code, text});
}

// Unpacks a Result into a new variable, or returns its error: `NACRE_TRY(input, request.input("x"));`
#define NACRE_TRY(variable, expression)                                               \
  auto variable##_result = (expression);                                              \
  if (!variable##_result) return std::unexpected(std::move(variable##_result.error())); \
  auto &variable = *variable##_result

// The element type that a C++ type stands for.
template <class T>
inline constexpr nacre_type type_of = [] {
  static_assert(std::is_arithmetic_v<T>, "tensors hold numbers; strings have functions of their own");
  if constexpr (std::is_same_v<T, bool>) return NACRE_BOOL;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? NACRE_FP32 : NACRE_FP64;
  constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<nacre_type>((std::is_signed_v<T> ? NACRE_INT8 : NACRE_UINT8) + size);
}();

using Shape = std::span<const std::int64_t>;

namespace detail {
inline std::string_view view(nacre_string string) { return {reinterpret_cast<const char *>(string.ptr), string.len}; }
inline nacre_string raw(std::string_view text) {
  return {reinterpret_cast<std::uint8_t *>(const_cast<char *>(text.data())), text.size()};
}
inline nacre_shape raw(Shape shape) { return {const_cast<std::int64_t *>(shape.data()), shape.size()}; }
inline Error taken(const nacre_error &error) {
  return {static_cast<nacre_code>(error.code), std::string(view(error.message))};
}
inline bool report(const Error &error, nacre_error *to) {
  return nacre_fail(to, error.code, "%.*s", static_cast<int>(error.message.size()), error.message.c_str());
}
}  // namespace detail

// The elements of a BYTES tensor: `for (std::string_view name : tensor.strings())`.
class Strings {
 public:
  class iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    explicit iterator(const nacre_tensor *tensor) : tensor_(tensor) { ++*this; }
    std::string_view operator*() const { return detail::view(element_); }
    iterator &operator++() {
      if (!nacre_next(tensor_, &at_, &element_)) tensor_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return tensor_ == nullptr; }

   private:
    const nacre_tensor *tensor_ = nullptr;
    std::size_t at_ = 0;
    nacre_string element_{};
  };

  explicit Strings(const nacre_tensor *tensor) : tensor_(tensor) {}
  iterator begin() const { return iterator(tensor_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  const nacre_tensor *tensor_;
};

// A tensor that somebody else owns.
class Tensor {
 public:
  explicit Tensor(const nacre_tensor *tensor) : tensor_(tensor) {}
  std::string_view name() const { return detail::view(tensor_->name); }
  nacre_type type() const { return static_cast<nacre_type>(tensor_->data_type); }
  Shape shape() const { return {tensor_->shape.ptr, tensor_->shape.len}; }
  // The elements, in order, last dimension innermost.
  template <class T>
  std::span<const T> values() const {
    if (type() != type_of<T>) __builtin_trap();  // `input<T>` checks, with a sentence
    return {static_cast<const T *>(nacre_values(tensor_)), tensor_->data.len / sizeof(T)};
  }
  Strings strings() const { return Strings(tensor_); }

 private:
  const nacre_tensor *tensor_;
};

// What `describe` says: `nacre::Description("…").input("x", NACRE_FP32, {-1}).output(…)`.
class Description {
 public:
  explicit Description(const char *summary) { nacre_add_summary(&raw_, summary); }
  using Dims = std::initializer_list<std::int64_t>;
  Description &&input(const char *name, nacre_type type, Dims dims) && {
    nacre_add_input(&raw_, name, type, detail::raw(Shape(dims)));
    return std::move(*this);
  }
  Description &&optional_input(const char *name, nacre_type type, Dims dims) && {
    nacre_add_optional_input(&raw_, name, type, detail::raw(Shape(dims)));
    return std::move(*this);
  }
  Description &&output(const char *name, nacre_type type, Dims dims) && {
    nacre_add_output(&raw_, name, type, detail::raw(Shape(dims)));
    return std::move(*this);
  }
  const nacre_description &raw() const { return raw_; }

 private:
  nacre_description raw_{};
};

// What config.pbtxt says. Each value is the parameter's, or `otherwise` if it is not set.
class Settings {
 public:
  explicit Settings(const nacre_settings *raw) : raw_(raw) {}
  Result<float> number(const char *name, float otherwise) const { return read(nacre_float, name, otherwise); }
  Result<std::int64_t> integer(const char *name, std::int64_t otherwise) const {
    return read(nacre_integer, name, otherwise);
  }
  Result<bool> truth(const char *name, bool otherwise) const { return read(nacre_truth, name, otherwise); }
  // Stays where it is for as long as the plugin is served.
  std::string_view text(const char *name, const char *otherwise) const {
    return detail::view(nacre_text(raw_, name, otherwise));
  }
  const nacre_settings &raw() const { return *raw_; }

 private:
  template <class T>
  Result<T> read(bool (*reader)(const nacre_settings *, const char *, T, T *, nacre_error *), const char *name,
                 T otherwise) const {
    T value;
    nacre_error error;
    if (!reader(raw_, name, otherwise, &value, &error)) return std::unexpected(detail::taken(error));
    return value;
  }
  const nacre_settings *raw_;
};

// The whole file at a path relative to the model's folder.
inline Result<std::string> read_file(std::string_view path) {
  nacre_string contents;
  nacre_error error;
  if (!nacre_read_file(detail::raw(path), &contents, &error)) return std::unexpected(detail::taken(error));
  std::string text(detail::view(contents));
  plugin_string_free(&contents);
  return text;
}

// One element of a client's batch.
class Request {
 public:
  explicit Request(const nacre_request *raw) : raw_(raw) {}
  // The input of that name, which must be there and be of that type.
  Result<Tensor> input(const char *name, nacre_type type) const {
    nacre_error error;
    const nacre_tensor *tensor = nacre_input(raw_, name, type, &error);
    if (tensor == nullptr) return std::unexpected(detail::taken(error));
    return Tensor(tensor);
  }
  template <class T>
  Result<Tensor> input(const char *name) const {
    return input(name, type_of<T>);
  }
  // One that may have been left out.
  std::optional<Tensor> find(const char *name) const {
    const nacre_tensor *tensor = nacre_find(raw_, name);
    return tensor != nullptr ? std::optional(Tensor(tensor)) : std::nullopt;
  }
  // Whether the client wants that output; if not, it may be left out.
  bool wants(const char *output) const { return nacre_wants(raw_, output); }
  std::string_view id() const { return detail::view(raw_->id); }
  const nacre_request &raw() const { return *raw_; }

 private:
  const nacre_request *raw_;
};

// The answer.
class Response {
 public:
  Response() = default;
  Response(Response &&other) noexcept : raw_(std::exchange(other.raw_, {})) {}
  Response &operator=(Response &&other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Response() { nacre_plugin_types_response_free(&raw_); }
  // Adds an output; the place of its values, zeros yet.
  template <class T>
  std::span<T> add(const char *name, Shape shape) {
    auto *values = static_cast<T *>(nacre_output(&raw_, name, type_of<T>, detail::raw(shape)));
    return {values, raw_.outputs.ptr[raw_.outputs.len - 1].data.len / sizeof(T)};
  }
  // Adds an output of BYTES out of any range of strings, as many as `shape` says.
  template <class Range>
  void add_strings(const char *name, Shape shape, const Range &texts) {
    nacre_strings strings{};
    for (const auto &text : texts) {
      std::string_view view(text);
      nacre_append(&strings, view.data(), view.size());
    }
    nacre_output_strings(&raw_, name, detail::raw(shape), &strings);
  }
  // An output of a called model's answer.
  Result<Tensor> output(const char *name, nacre_type type) const {
    nacre_error error;
    const nacre_tensor *tensor = nacre_answer(&raw_, name, type, &error);
    if (tensor == nullptr) return std::unexpected(detail::taken(error));
    return Tensor(tensor);
  }
  nacre_response *raw() { return &raw_; }
  nacre_response release() && { return std::exchange(raw_, {}); }

 private:
  nacre_response raw_{};
};

// A tensor for a call to another model, which borrows `values`.
template <class T>
nacre_tensor borrow(const char *name, Shape shape, std::span<const T> values) {
  return nacre_borrow(name, type_of<T>, detail::raw(shape), values.data(), values.size_bytes());
}

// Calls another model, which config.pbtxt grants by parameter NACRE_MODELS.
inline Result<Response> infer(const char *model, std::span<const nacre_tensor> inputs) {
  Response response;
  nacre_error error;
  if (!nacre_infer(model, inputs.data(), inputs.size(), response.raw(), &error)) {
    return std::unexpected(detail::taken(error));
  }
  return response;
}

}  // namespace nacre

// Makes a class the component's plugin. Once, in one source.
#define NACRE_EXPORT(Class)                                                                                           \
  static Class nacre_plugin;                                                                                          \
  bool nacre_describe(const nacre_settings *settings, nacre_description *description, nacre_error *error) {           \
    nacre::Result<nacre::Description> described = nacre_plugin.describe(nacre::Settings(settings));                   \
    if (!described) return nacre::detail::report(described.error(), error);                                           \
    *description = described->raw();                                                                                  \
    return true;                                                                                                      \
  }                                                                                                                   \
  bool nacre_configure(const nacre_settings *settings, nacre_error *error) {                                          \
    nacre::Result<void> configured = nacre_plugin.configure(nacre::Settings(settings));                               \
    return configured.has_value() || nacre::detail::report(configured.error(), error);                                \
  }                                                                                                                   \
  bool nacre_process(const nacre_request *request, nacre_response *response, nacre_error *error) {                    \
    nacre::Result<nacre::Response> processed = nacre_plugin.process(nacre::Request(request));                         \
    if (!processed) return nacre::detail::report(processed.error(), error);                                           \
    *response = std::move(*processed).release();                                                                      \
    return true;                                                                                                      \
  }                                                                                                                   \
  static_assert(true)
