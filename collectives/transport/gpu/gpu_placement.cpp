// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/gpu_placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "base/index.hpp"
#include "base/source.hpp"
#include "collectives/device/gpus.hpp"

namespace tutti {
namespace {

// Returns the GPUs of TUTTI_GPUS, or all.
std::vector<int> chosen_gpus() {
    if (const auto missing = gpus_missing()) throw Error(*missing);
    const auto there = int_size(gpus());
    const char* text = std::getenv("TUTTI_GPUS");
    std::vector<int> chosen(as_size(there));
    std::iota(chosen.begin(), chosen.end(), 0);
    if (text == nullptr) return chosen;
    chosen.clear();
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const auto gpu = number_in<unsigned>(word);
        if (!gpu || *gpu >= as_size(there))
            throw Error("TUTTI_GPUS=" + std::string(text) + " names GPU '" + word +
                        "', but this machine has 0.." + std::to_string(there - 1) +
                        "; use e.g. TUTTI_GPUS=0");
        chosen.push_back(static_cast<int>(*gpu));
    }
    if (chosen.empty()) throw Error("TUTTI_GPUS names no GPU; use e.g. TUTTI_GPUS=0");
    return chosen;
}

struct OwnGpu {
    std::shared_ptr<Accelerator> device;
};

}  // namespace

int gpu_number(World& world) {
    const std::vector<int> chosen = chosen_gpus();
    World& whole = world.whole();
    for (const auto& host : whole.hosts().nodes())
        for (std::size_t place = 0; place < host.size(); ++place)
            if (host[place] == whole.rank()) return chosen[place % chosen.size()];
    throw Error("this rank is on no host");  // cannot happen: every rank is on a host
}

std::vector<int> gpus_of_process(World& world) {
    std::vector<int> chosen = chosen_gpus();
    chosen.resize(std::min(chosen.size(), as_size(world.whole().size())));
    return distinct(std::move(chosen));
}

std::vector<int> distinct(std::vector<int> gpus) {
    std::ranges::sort(gpus);
    gpus.erase(std::ranges::unique(gpus).begin(), gpus.end());
    return gpus;
}

std::vector<int> gpus_of_ranks(World& world) { return gather_all(world, gpu_number(world)); }

std::optional<std::string> gpu_placement_refuses(World& world) {
    std::optional<std::string> problem;
    try {
        gpu_number(world);
    } catch (const Error& error) {
        problem = error.what();
    }
    return missing_on_any(world, problem);
}

std::shared_ptr<Accelerator> own_gpu(World& world) {
    World& whole = world.whole();
    const auto open = [&] {
        const auto peers = world.one_process() ? gpus_of_process(whole) : std::vector<int>{};
        return std::make_shared<OwnGpu>(cuda_device(gpu_number(world), peers));
    };
    return whole.attribute<OwnGpu>(open).device;
}

}  // namespace tutti
