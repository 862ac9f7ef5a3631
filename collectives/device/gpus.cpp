// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/gpus.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace tutti {
namespace {

std::string version_of(int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string uuid_of(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

// Determined once: without a driver, each query would search for one again.
struct Count {
    int gpus = 0;
    std::optional<std::string> refusal;

    Count() {
        const cudaError_t error = cudaGetDeviceCount(&gpus);
        if (error != cudaSuccess) {
            gpus = 0;  // CUDA may have left it unset
            refusal = fmt::format("no GPU here (CUDA says: {})", cudaGetErrorString(error));
        } else if (gpus == 0) {
            refusal = "no GPU here (CUDA says: 0 devices)";
        }
    }
};

const Count& count() {
    static const Count once;
    return once;
}

}  // namespace

void check_cuda(int code, std::source_location where) {
    if (code == cudaSuccess) return;
    throw Error(fmt::format("CUDA failed in {}: {}", where.function_name(),
                            cudaGetErrorString(static_cast<cudaError_t>(code))),
                Exit::rank_lost);
}

std::optional<std::string> cuda_not_built() { return std::nullopt; }

std::optional<std::string> gpus_missing() { return count().refusal; }

std::vector<GpuFacts> gpus() {
    std::vector<GpuFacts> all;
    for (int number = 0; number < count().gpus; ++number) {
        cudaDeviceProp is;
        check_cuda(cudaGetDeviceProperties(&is, number));
        all.push_back({.model = is.name,
                       .uuid = uuid_of(is.uuid),
                       .address = fmt::format("{:04x}:{:02x}:{:02x}.0", is.pciDomainID, is.pciBusID,
                                              is.pciDeviceID),
                       .memory = {static_cast<std::int64_t>(is.totalGlobalMem)},
                       .multiprocessors = is.multiProcessorCount,
                       .capability = is.major * 10 + is.minor});
    }
    return all;
}

std::string cuda_runtime_version() {
    int number = 0;
    cudaRuntimeGetVersion(&number);
    return version_of(number);
}

std::string cuda_driver_version() {
    int number = 0;
    if (cudaDriverGetVersion(&number) != cudaSuccess || number == 0) return "none";
    return version_of(number);
}

// The file contains e.g. "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27
// ...".
std::string gpu_driver_release() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line, word;
    std::getline(file, line);
    std::istringstream words(line);
    while (words >> word)
        if (word.find('.') != word.npos && std::isdigit(static_cast<unsigned char>(word[0])) != 0)
            return word;
    return cuda_driver_version() == "none" ? "" : "unknown";
}

}  // namespace tutti
