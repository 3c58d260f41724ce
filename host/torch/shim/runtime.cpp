// The library itself: errors, version, devices, memory.

#include <dlfcn.h>

#include <cstring>
#include <new>

#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/headeronly/version.h>

#include "shim.h"

namespace nacre {

// Whether the text tells that memory ran out: TorchScript's interpreter passes exceptions on as their text alone.
static bool tells_out_of_memory(const std::string& text) {
  return text.find("DefaultCPUAllocator: can't allocate memory") != std::string::npos ||
         text.find("out of memory. Tried to allocate") != std::string::npos;
}

NacreError* caught() {
  auto error = std::make_unique<NacreError>();
  try {
    throw;
  } catch (const c10::OutOfMemoryError& e) {
    *error = {e.what(), e.what_without_backtrace(), true};
  } catch (const c10::Error& e) {
    *error = {e.what(), e.what_without_backtrace(), tells_out_of_memory(e.what_without_backtrace())};
  } catch (const std::bad_alloc& e) {
    *error = {"out of memory", "out of memory", true};
  } catch (const std::exception& e) {
    *error = {e.what(), e.what(), tells_out_of_memory(e.what())};
  } catch (...) {
    *error = {"an exception of unknown type", "an exception of unknown type", false};
  }
  return error.release();
}

char* text(const std::string& text) { return strdup(text.c_str()); }

c10::Device gpu(int32_t index) {
  const auto type = at::accelerator::getAccelerator();
  TORCH_CHECK(type.has_value(), "this machine has no GPU that libtorch can use");
  const auto count = at::accelerator::deviceCount();
  TORCH_CHECK(index >= 0 && index < count, "there is no GPU ", index, ", only ", static_cast<int>(count));
  return {*type, static_cast<c10::DeviceIndex>(index)};
}

// Major, minor and patch of the number that libtorch calls its ABI version.
static void unpack_version(uint64_t packed, uint32_t version[3]) {
  version[0] = (packed >> 56) & 0xff;
  version[1] = (packed >> 48) & 0xff;
  version[2] = (packed >> 40) & 0xff;
}

}  // namespace nacre

const char* nacre_error_text(const NacreError* error) { return error->text.c_str(); }

const char* nacre_error_message(const NacreError* error) { return error->message.c_str(); }

bool nacre_error_is_out_of_memory(const NacreError* error) { return error->out_of_memory; }

void nacre_error_free(NacreError* error) { delete error; }

const char* nacre_library_path(void) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) == 0) return nullptr;
  return info.dli_fname;
}

void nacre_library_version(uint32_t version[3]) { nacre::unpack_version(aoti_torch_abi_version(), version); }

void nacre_compiled_version(uint32_t version[3]) { nacre::unpack_version(TORCH_ABI_VERSION, version); }

uint32_t nacre_gpu_count(void) {
  try {
    if (!at::accelerator::getAccelerator().has_value()) return 0;
    return static_cast<uint32_t>(at::accelerator::deviceCount());
  } catch (...) {
    return 0;
  }
}

NacreError* nacre_set_interop_threads(int threads) {
  return nacre::guarded([&] { at::set_num_interop_threads(threads); });
}

NacreError* nacre_pinned_alloc(size_t size, NacreStorage** storage, uint8_t** data) {
  return nacre::guarded([&] {
    // Pinning asks the accelerator's allocator, and the message without one is about a lack of CUDA.
    nacre::gpu(0);
    const auto options = at::TensorOptions().dtype(at::kByte).pinned_memory(true);
    auto made = std::make_unique<NacreStorage>(NacreStorage{at::empty({static_cast<int64_t>(size)}, options)});
    *data = made->tensor.data_ptr<uint8_t>();
    *storage = made.release();
  });
}

void nacre_storage_free(NacreStorage* storage) { delete storage; }

NacreError* nacre_archive_records(const char* path, char** records) {
  return nacre::guarded([&] {
    caffe2::serialize::PyTorchStreamReader reader{std::string(path)};
    std::string lines;
    for (const auto& name : reader.getAllRecords()) lines += name + "\n";
    *records = nacre::text(lines);
  });
}

void nacre_text_free(char* text) { free(text); }
