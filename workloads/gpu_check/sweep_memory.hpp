// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/planner/planner.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {

/// This rank's buffers of gpu_sweep, one after the other, in memory that the transport's peers
/// reach: of the host, or of a GPU and then with an image on the host.
class SweepMemory {
public:
    /// Room for calls of up to so many bytes. Collective.
    SweepMemory(Planner& planner, std::string_view transport, std::int64_t bytes,
                Collective collective)
        : reachable_(planner.registered_memory(transport,
                                               room(bytes, collective, planner.world().size()))) {
        if (reachable_->device() != nullptr) image_.resize(reachable_->mine().size());
    }

    const char* kind() const { return reachable_->device() != nullptr ? "device" : "registered"; }

    void lay_out(const Call& call, const World& world) {
        const std::size_t input = input_bytes(call, world.size(), world.rank());
        const std::size_t begin = (input + 4095) / 4096 * 4096;
        input_ = reachable_->mine().subspan(0, input);
        output_ = reachable_->mine().subspan(begin, output_bytes(call, world.size(), world.rank()));
    }

    CallBuffers buffers() const { return {.input = input_, .output = output_}; }
    const ReachableMemory* registered() const { return reachable_.get(); }

    void fill(const CheckCase& check, Rank me) {
        fill_input(check, me, here(input_));
        poison(here(output_));
        if (Accelerator* device = reachable_->device())
            for (const auto part : {input_, output_}) device->copy_in(part.data(), here(part));
    }

    std::int64_t wrong(const CheckCase& check, Rank me) {
        if (Accelerator* device = reachable_->device())
            device->copy_out(here(output_), output_.data());
        return count_wrong(check, me, here(output_));
    }

private:
    // Each of both is at most the whole message, and that at least one element of every rank.
    static std::size_t room(std::int64_t bytes, Collective collective, int ranks) {
        const Call one{.collective = collective, .count = 1};
        return 2 * static_cast<std::size_t>(std::max(bytes, total_bytes(one, ranks))) + 8192;
    }

    std::span<std::byte> here(std::span<std::byte> part) {
        if (reachable_->device() == nullptr) return part;
        return std::span(image_).subspan(
            static_cast<std::size_t>(part.data() - reachable_->mine().data()), part.size());
    }

    std::unique_ptr<ReachableMemory> reachable_;
    std::vector<std::byte> image_;
    std::span<std::byte> input_, output_;
};

}  // namespace tutti
