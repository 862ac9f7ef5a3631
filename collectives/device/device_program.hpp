// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti {

// Data that the blocks of a rank read while they run: flat, with addresses in device memory.

/// A rank's public state, and the counters of its blocks' barriers. It lies at the start of its
/// piece of the plan's memory and lives as long as the plan; it is never reset.
struct DeviceState {
    static constexpr std::size_t line = 128;

    alignas(line) std::uint64_t finished = 0;  ///< steps over all runs; peers wait for this
    alignas(line) std::uint64_t arrived = 0;  ///< blocks at the ends of their phases, over all runs
    /// The number of the current run. The last block of a run increments it, so that a launch can
    /// be repeated unchanged (a CUDA graph). The first one is 2, because small messages wait for
    /// the run two back.
    alignas(line) std::uint64_t run = 0;

    /// Returns the state before the first run.
    static DeviceState fresh(std::uint64_t steps_of_run, std::uint64_t arrivals_of_run) {
        return {2 * steps_of_run - 1, 2 * arrivals_of_run, 2};
    }
};

/// Waits until `finished` of a peer has advanced by `steps` since the start of this run.
struct DeviceWait {
    const std::uint64_t* finished;
    std::int64_t steps;
    std::int32_t peer;
};

/// Each out = sources combined in order; or, with a divisor, its one out divided by it.
struct DeviceMove {
    std::uint64_t bytes;
    std::uint32_t first_out, outs;
    std::uint32_t first_source, sources;
    std::uint32_t divisor = 0;
};

/// Half data, half flag, written by one store: a reader that sees the number of the run there also
/// has the data.
struct alignas(16) DeviceLine {
    std::uint64_t data, run;
};

/// A message by the LL protocol: bytes of this rank, and the lines in its receiver's memory, one
/// set for even runs and one for odd ones.
struct LlMessage {
    std::byte* bytes;
    DeviceLine* lines[2];
    std::uint32_t size;
    std::int32_t peer;
};

/// The work of a block between two barriers of the rank's blocks, in the order of the members. Each
/// list begins where that of the previous phase ends.
struct DevicePhase {
    std::uint32_t waits_end, packing_end, sends_end, receives_end, moves_end;
    std::int32_t step;  ///< step of the schedule, for the report of a hang
    /// Steps of this run that the rank has finished after the phase; or `nothing` if there are
    /// none.
    std::uint64_t finished;
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};
};

/// One block's share of a rank's part.
struct DeviceProgram {
    DeviceState* state;
    std::uint64_t steps_of_run;  ///< increment of `finished` per run
    std::int32_t rank;
    std::uint32_t blocks;  ///< per rank
    std::uint32_t phases_count;
    /// An empty phase, in which all lists begin, then phases_count phases.
    const DevicePhase* phases;
    const DeviceWait* waits;
    const LlMessage* sends;
    const LlMessage* receives;
    const DeviceMove* moves;
    std::byte* const* outs;
    const std::byte* const* sources;
};

/// The rank that gave up, its step, and the peer that it waited for.
struct DeviceStop {
    int rank, step, peer;
};

/// Packs it into one word, so that it is never read in part; never 0.
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
