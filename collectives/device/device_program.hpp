// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti {

// What the blocks of a rank read while they run: flat, and full of addresses in device memory.

/// A rank's public state, and the counters of its blocks' barriers. It lies at the start of its
/// piece of the plan's memory and lives as long as the plan; nothing in it is ever reset.
struct DeviceState {
    static constexpr std::size_t line = 128;

    alignas(line) std::uint64_t finished = 0;  ///< steps over all runs: what peers wait for
    alignas(line) std::uint64_t arrived = 0;  ///< blocks at the ends of their phases, over all runs
    /// The number of the run under way. The last block of a run moves it on, so that a launch can
    /// be repeated as it is (a CUDA graph). The first is 2, as small messages wait for the run two
    /// back.
    alignas(line) std::uint64_t run = 0;

    /// Before the first run.
    static DeviceState fresh(std::uint64_t steps_of_run, std::uint64_t arrivals_of_run) {
        return {2 * steps_of_run - 1, 2 * arrivals_of_run, 2};
    }
};

/// Until `finished` of a peer is so many steps further than at the start of this run.
struct DeviceWait {
    const std::uint64_t* finished;
    std::int64_t steps;
    std::int32_t peer;
};

/// Every out = sources combined in order; or, with a divisor, its one out divided by that.
struct DeviceMove {
    std::uint64_t bytes;
    std::uint32_t first_out, outs;
    std::uint32_t first_source, sources;
    std::uint32_t divisor = 0;
};

/// Half data, half flag, in one store: whoever sees the number of the run there has the data, too.
struct alignas(16) DeviceLine {
    std::uint64_t data, run;
};

/// A message by the LL protocol: bytes of this rank, and the lines in memory of its receiver, one
/// set for even runs and one for odd ones.
struct LlMessage {
    std::byte* bytes;
    DeviceLine* lines[2];
    std::uint32_t size;
    std::int32_t peer;
};

/// What a block does between two barriers of the rank's blocks, in the order of the members. Each
/// list begins where that of the phase before ends.
struct DevicePhase {
    std::uint32_t waits_end, packing_end, sends_end, receives_end, moves_end;
    std::int32_t step;  ///< of the schedule, for the report of a hang
    /// Steps of this run that the rank has finished after the phase; or `nothing` new.
    std::uint64_t finished;
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};
};

/// One block's share of a rank's part.
struct DeviceProgram {
    DeviceState* state;
    std::uint64_t steps_of_run;  ///< by how much a run moves `finished` on
    std::int32_t rank;
    std::uint32_t blocks;  ///< of the rank
    std::uint32_t phases_count;
    const DevicePhase* phases;  ///< an empty one, in which all lists begin, and so many
    const DeviceWait* waits;
    const LlMessage* sends;
    const LlMessage* receives;
    const DeviceMove* moves;
    std::byte* const* outs;
    const std::byte* const* sources;
};

/// Who gave up, where, and for whom it had waited.
struct DeviceStop {
    int rank, step, peer;
};

/// As one word, so that it is never seen in part; never 0.
constexpr std::uint64_t to_word(DeviceStop stop) {
    return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(stop.rank & 0x7fff) << 48 |
           static_cast<std::uint64_t>(stop.peer & 0xffff) << 32 |
           static_cast<std::uint32_t>(stop.step);
}

constexpr std::optional<DeviceStop> stop_in(std::uint64_t word) {
    if (word == 0) return std::nullopt;
    return DeviceStop{static_cast<int>(word >> 48 & 0x7fff), static_cast<int>(word & 0xffffffff),
                      static_cast<int>(word >> 32 & 0xffff)};
}

}  // namespace tutti
