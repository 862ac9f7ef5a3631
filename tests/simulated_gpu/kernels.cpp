// SPDX-License-Identifier: Apache-2.0
// Kernels: how a program names them, and how they are found in the library that has them as built
// by
// the host's compiler.
#include "tests/simulated_gpu/kernels.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/simulated_gpu/gpu.hpp"

namespace tutti::simulated {
namespace {

// The names of kernels, which nvcc and the host's compiler share, by the function that launches
// them.
std::map<const void*, std::string>& names() {
    static auto* const all = new std::map<const void*, std::string>;
    return *all;
}

// Opens the library in the folder of this one.
void* device_code() {
    static void* const library = [] {
        Dl_info own;
        dladdr(reinterpret_cast<const void*>(&run_block), &own);
        std::string path = own.dli_fname;
        path = path.substr(0, path.rfind('/') + 1) + "libsimulated_device_code.so";
        void* const opened = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (opened == nullptr) std::fprintf(stderr, "simulated GPU: %s\n", dlerror());
        return opened;
    }();
    return library;
}

const void* kernel_of(const void* function) {
    const auto name = names().find(function);
    if (name == names().end() || device_code() == nullptr) return nullptr;
    return dlsym(device_code(), name->second.c_str());
}

// Only the kernel knows the number of arguments; bytes after them on the stack are copied, too,
// which the address sanitizer cannot know.
[[gnu::no_sanitize_address]] void copy_arguments(const void* from, std::byte* to) {
    for (std::size_t i = 0; i < most_arguments; ++i) to[i] = static_cast<const std::byte*>(from)[i];
}

cudaError_t launch(const void* function, dim3 blocks, dim3 threads, void** arguments,
                   cudaStream_t stream, bool together) {
    return answer_of([&] {
        const void* const kernel = kernel_of(function);
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        if (stream_of(stream).gpu() != current_number()) return cudaErrorInvalidResourceHandle;
        if (blocks.x == 0 || blocks.y * blocks.z != 1 || threads.y * threads.z != 1 ||
            threads.x == 0 || threads.x > 1024)
            return cudaErrorInvalidConfiguration;
        if (together && blocks.x > Gpu::most_blocks) return cudaErrorCooperativeLaunchTooLarge;
        Grid grid{kernel, blocks.x, threads.x, together, std::vector<std::byte>(most_arguments)};
        if (arguments != nullptr && arguments[0] != nullptr)
            copy_arguments(arguments[0], grid.arguments.data());
        Gpu& gpu = current_gpu();
        stream_of(stream).add([&gpu, grid = std::move(grid)] { gpu.run(grid); });
        return cudaSuccess;
    });
}

}  // namespace

void run_block(const Block& block) {
    static auto* const run =
        reinterpret_cast<RunBlock*>(dlsym(device_code(), "simulated_run_block"));
    if (const char* const problem = run(block); *problem != '\0')
        fail(cudaErrorLaunchFailure, problem);
}

}  // namespace tutti::simulated

using namespace tutti::simulated;

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* none = nullptr;
    return &none;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    names()[function] = name;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t, cudaStream_t stream) {
    return launch(function, blocks, threads, arguments, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 blocks, dim3 threads,
                                        void** arguments, std::size_t, cudaStream_t stream) {
    return launch(function, blocks, threads, arguments, stream, true);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int,
                                                          std::size_t) {
    *blocks = Gpu::blocks_of_each;
    return answer(kernel_of(function) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

}  // extern "C"
