// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_words.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "results/launch.hpp"

namespace tutti {
namespace {

std::string driver_in_words() {
    const std::string release = gpu_driver_release();
    if (release.empty()) return "no driver";
    return fmt::format("driver {} (up to CUDA {})", release, cuda_driver_version());
}

}  // namespace

std::vector<std::string> gpus_in_words() {
    std::vector<std::string> lines;
    if (!cuda_not_built())
        lines.push_back(fmt::format("CUDA {}, {}, NCCL {}", cuda_runtime_version(),
                                    driver_in_words(), nccl_version()));
    if (const auto missing = gpus_missing()) lines.push_back(*missing);
    int number = 0;
    for (const GpuFacts& gpu : gpus())
        lines.push_back(fmt::format("GPU {}: {}, {}, {} multiprocessors, {} bytes", number++,
                                    gpu.model, gpu.address, gpu.multiprocessors,
                                    to_string(gpu.memory)));
    return lines;
}

void describe_gpus(Launch& launch) {
    const auto here = gpus();
    if (here.empty()) return;
    for (const GpuFacts& gpu : here)
        launch.gpus.push_back(
            {.model = gpu.model, .uuid = gpu.uuid, .clocks = {}, .persistence = {}, .mig = {}});
    launch.cuda = Cuda{.driver = gpu_driver_release(), .runtime = cuda_runtime_version()};
    if (nccl_missing()) return;
    launch.nccl =
        Library{.vendor = "NCCL", .version = nccl_version(), .lib_sha256 = {}, .settings = {}};
    for (const auto& [name, value] : stored_environment(environ))
        if (name.starts_with("NCCL_")) launch.nccl->settings.emplace(name, value);
}

std::string gpu_uuid_of(World& world) {
    const auto here = gpus();
    return here.empty() ? "" : here[static_cast<std::size_t>(gpu_number(world))].uuid;
}

}  // namespace tutti
