// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "collectives/device/cuda_device.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transport/device_transport.hpp"

namespace tutti {
namespace {

// Up to here a flag beside every 8 bytes costs less than a hand-over by a counter of its own.
constexpr Bytes lines_up_to{8 << 10};

// The GPUs that ranks are dealt to: TUTTI_GPUS, or all.
std::vector<int> chosen_gpus() {
    const int there = cuda_devices();
    const char* text = std::getenv("TUTTI_GPUS");
    std::vector<int> gpus(static_cast<std::size_t>(there));
    std::iota(gpus.begin(), gpus.end(), 0);
    if (text == nullptr) return gpus;
    gpus.clear();
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const bool is_number =
            !word.empty() && word.size() < 4 &&
            std::ranges::all_of(word, [](unsigned char c) { return c >= '0' && c <= '9'; });
        const int gpu = is_number ? std::stoi(word) : there;
        if (gpu >= there)
            throw Error("TUTTI_GPUS=" + std::string(text) + " names GPU '" + word +
                        "', but this machine has 0.." + std::to_string(there - 1) +
                        "; type for example TUTTI_GPUS=0");
        gpus.push_back(gpu);
    }
    if (gpus.empty()) throw Error("TUTTI_GPUS names no GPU; type for example TUTTI_GPUS=0");
    return gpus;
}

// Of each rank, which uses so many of them as there are ranks.
struct Dealt {
    std::vector<int> gpus;     // used in this process
    std::vector<int> of_rank;  // as this process numbers them
};

Dealt dealt_gpus(World& world) {
    Dealt dealt{chosen_gpus(), {}};
    if (dealt.gpus.size() > static_cast<std::size_t>(world.size()))
        dealt.gpus.resize(static_cast<std::size_t>(world.size()));
    for (const Rank rank : all_ranks(world.size()))
        dealt.of_rank.push_back(
            dealt.gpus[static_cast<std::size_t>(rank.index) % dealt.gpus.size()]);
    return dealt;
}

std::optional<std::string> refuses_threads(World& world) {
    const Dealt dealt = dealt_gpus(world);
    for (const int from : dealt.gpus)
        for (const int to : dealt.gpus)
            if (from != to && !cuda_reaches(from, to))
                return "GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
                       std::to_string(to) + "; type TUTTI_GPUS=" + std::to_string(from);
    return std::nullopt;
}

// Kernels of two processes take turns on a GPU: one would wait for the other for a whole slice at
// each step, or for ever.
std::optional<std::string> refuses_processes(World& world) {
    if (!world.one_host()) return "the ranks are on several hosts; type --transport mpi";
    const Dealt dealt = dealt_gpus(world);
    const auto me = static_cast<std::size_t>(world.rank().index);
    auto all = gathered_texts(world, cuda_identity(dealt.of_rank[me]));
    std::ranges::sort(all);
    if (std::ranges::adjacent_find(all) == all.end()) return std::nullopt;
    return "ranks are processes and some share a GPU, where their kernels cannot run at the same "
           "time; run without mpirun, with --ranks " +
           std::to_string(world.size()) + ", for virtual ranks";
}

}  // namespace

std::optional<std::string> cuda_refuses(World& world) {
    std::string problem;
    try {
        chosen_gpus();
    } catch (const Error& error) {
        problem = error.what();
    }
    for (const std::string& of_rank : gathered_texts(world, problem))
        if (!of_rank.empty()) return of_rank;
    return world.one_process() ? refuses_threads(world) : refuses_processes(world);
}

std::unique_ptr<Transport> cuda_transport(World& world, const std::optional<Fault>&) {
    const Dealt dealt = dealt_gpus(world);
    const int mine = dealt.of_rank[static_cast<std::size_t>(world.rank().index)];
    DevicePlaces places;
    if (world.one_process()) {
        for (const Rank rank : all_ranks(world.size()))
            if (dealt.of_rank[static_cast<std::size_t>(rank.index)] == mine)
                places.neighbours.push_back(rank);
        places.is_virtual = static_cast<std::size_t>(world.size()) > dealt.gpus.size();
    } else {
        places.neighbours = {world.rank()};
    }
    std::string problem;
    try {
        if (places.neighbours.front() == world.rank())
            places.device =
                cuda_device(mine, world.one_process() ? dealt.gpus : std::vector<int>{});
    } catch (const Error& error) {
        problem = error.what();
    }
    agree_on(world, "transport cuda", problem.empty() ? nullptr : problem.c_str());
    places.device = shared_by_first(world, places.neighbours.front(), places.device);
    return std::make_unique<DeviceTransport>("cuda", std::move(places), lines_up_to);
}

}  // namespace tutti
