// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>

#include "collectives/execute/planner.hpp"
#include "workloads/check_data.hpp"

namespace tutti {

/// This rank's buffers of gpu_sweep, one after the other, in memory that its peers reach.
class SweepMemory {
public:
    static constexpr const char* kind = "registered";
    static constexpr MemoryOf memory = MemoryOf::host;

    /// Room for calls of up to so many bytes. Collective.
    SweepMemory(Planner& planner, std::string_view transport, std::int64_t bytes,
                Collective collective)
        : reachable_(planner.world(), room(bytes, collective, planner.world().size())) {
        (void)transport;
    }

    void lay_out(const Call& call, const World& world) {
        const std::size_t input = input_bytes(call, world.size(), world.rank());
        const std::size_t begin = (input + 4095) / 4096 * 4096;
        input_ = reachable_.mine().subspan(0, input);
        output_ = reachable_.mine().subspan(begin, output_bytes(call, world.size(), world.rank()));
    }

    CallBuffers buffers() const { return {.input = input_, .output = output_}; }
    const SharedMemory* registered() const { return &reachable_; }

    void fill(const CheckCase& check, Rank me) {
        fill_input(check, me, input_);
        poison(output_);
    }
    std::int64_t wrong(const CheckCase& check, Rank me) const {
        return count_wrong(check, me, output_);
    }

private:
    // Each of both is at most the whole message, and that at least one element of every rank.
    static std::size_t room(std::int64_t bytes, Collective collective, int ranks) {
        const Call one{.collective = collective, .count = 1};
        return 2 * static_cast<std::size_t>(std::max(bytes, total_bytes(one, ranks))) + 8192;
    }

    SharedMemory reachable_;
    std::span<std::byte> input_, output_;
};

}  // namespace tutti
