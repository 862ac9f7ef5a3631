// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/device_transport.hpp"

#include <algorithm>

#include "collectives/device/accelerator.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transport/gpu/device_memory.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"

namespace tutti {

std::string DevicePlaces::details() const {
    if (!is_virtual) return device->name();
    return "(v) virtual ranks, " + std::to_string(neighbours.size()) + " on " + device->name();
}

namespace {

std::optional<std::string> refuses_threads(World& world) {
    const std::vector<int> used = distinct(gpus_of_ranks(world));
    for (const int from : used)
        for (const int to : used)
            if (from != to && !cuda_reaches(from, to))
                return "GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
                       std::to_string(to) + "; use TUTTI_GPUS=" + std::to_string(from);
    // Kernels of several groups on one GPU, each waiting for a kernel on another GPU, could
    // deadlock.
    const auto gpus_of_all = gpus_of_process(world).size();
    if (&world != &world.whole() && used.size() > 1 && gpus_of_all < as_size(world.whole().size()))
        return "groups of ranks need a GPU for each rank, or one for all; use --ranks " +
               std::to_string(gpus_of_all) + " or TUTTI_GPUS=" + std::to_string(used[0]);
    return std::nullopt;
}

// Kernels of two processes on one GPU are time-sliced: at each step, one would wait a whole slice
// for the other, or for ever.
std::optional<std::string> refuses_processes(World& world) {
    if (!world.one_host()) return "the ranks are on several hosts; use --transport mpi";
    auto all = gather_all_texts(world, gpus().at(as_size(gpu_number(world))).uuid);
    std::ranges::sort(all);
    if (std::ranges::adjacent_find(all) != all.end())
        return "ranks are processes and some share a GPU, where their kernels cannot run at the "
               "same time; run without mpirun, with --ranks " +
               std::to_string(world.size()) + ", for virtual ranks";
    try {  // not all machines and containers let processes share memory of their GPUs
        auto device = make_on_all_ranks(world, "a GPU", [&] { return own_gpu(world); });
        DeviceMemory(world, std::move(device), 1);
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;
        return error.what();
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> cuda_refuses(World& world) {
    if (auto refusal = gpu_placement_refuses(world)) return refusal;
    return world.one_process() ? refuses_threads(world) : refuses_processes(world);
}

std::unique_ptr<DevicePlaces> cuda_transport(World& world, const std::optional<Fault>&) {
    const std::vector<int> of_rank = gpus_of_ranks(world), used = distinct(of_rank);
    const int mine = gpu_number(world);
    DevicePlaces places;
    if (world.one_process()) {
        for (const Rank rank : all_ranks(world.size()))
            if (at(of_rank, rank) == mine) places.neighbours.push_back(rank);
        places.is_virtual = as_size(world.size()) > used.size();
    } else {
        places.neighbours = {world.rank()};
    }
    // Ranks that share one launch share the device of the first one.
    const bool is_only_rank = places.neighbours.size() == 1;
    places.device =
        make_on_all_ranks(world, "transport cuda", [&]() -> std::shared_ptr<Accelerator> {
            if (is_only_rank) return own_gpu(world);
            return places.neighbours.front() == world.rank() ? cuda_device(mine, used) : nullptr;
        });
    places.device = shared_by_first(world, places.neighbours.front(), places.device);
    return std::make_unique<DevicePlaces>(std::move(places));
}

std::unique_ptr<DevicePlaces> emulated_transport(World& world, const std::optional<Fault>& fault) {
    std::optional<int> stopped;
    if (fault) {
        if (fault->kind != Fault::Kind::stop || !fault->from)
            throw Error("cuda-emulated injects only one fault; use stop:from=RANK");
        stopped = fault->from->index;
    }
    std::shared_ptr<Accelerator> own;
    if (world.is_first()) own = emulated_device(stopped);
    DevicePlaces places{shared_by_first(world, Rank{0}, own), {}, world.size() > 1};
    for (const Rank rank : all_ranks(world.size())) places.neighbours.push_back(rank);
    return std::make_unique<DevicePlaces>(std::move(places));
}

}  // namespace tutti
