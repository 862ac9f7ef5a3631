// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/execute/request.hpp"

namespace tutti {

/// What two ranks write must not share a line, or each write would cost the other a miss.
inline constexpr std::size_t cache_line = 64;

/// A place that peers can read: in the registered buffers or in the plan's own shared memory.
struct Place {
    enum class In : std::uint32_t { registered, plan } in = In::plan;
    std::uint64_t offset = 0;
    auto operator<=>(const Place&) const = default;
};

/// `peer` must have finished all steps before `steps` (counted from the begin of the run).
struct Need {
    Rank peer;
    int steps;
};

/// A source of a move: a place of this rank, or the next thing that `peer` shows to this rank.
struct Source {
    std::optional<Rank> peer;
    Place own = {};
    std::uint32_t shown = 0;  ///< number of the thing among those that `peer` shows to this rank
};

/// out = sources combined in order.
struct DirectMove {
    Place out;
    std::vector<Source> sources;
    std::size_t bytes;
};

/// One step: wait for the needs, then do the moves.
struct DirectStep {
    int number;
    std::vector<Need> needs;
    std::vector<DirectMove> moves;
};

/// One rank's part for direct execution, with places instead of addresses. It can be made and
/// examined without peers: where a chunk lies is its owner's own business, which tells each peer,
/// in the order of the schedule, the places to read (`shown`).
struct DirectProgram {
    std::vector<DirectStep> steps;
    std::vector<std::vector<Place>> shown;   ///< by peer
    std::vector<DirectMove> settling_early;  ///< own memory only; nobody reads what it writes
    std::vector<Need> last_readers;          ///< then the run is over for the peers, too
    std::vector<DirectMove> settling_late;
    std::size_t plan_bytes = 0;  ///< shared memory that the plan itself needs
    /// Where the plan keeps images of buffers that peers cannot reach (or must not read in place).
    std::optional<Place> input_image, output_image;
};

/// `input` and `output` say where the registered buffers begin; nothing: the plan keeps an image.
DirectProgram compile_direct(const PlanRequest& request, Rank me, std::optional<Place> input,
                             std::optional<Place> output);

}  // namespace tutti
