// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// A number of bytes that depends on the call, as an index, see MessageSizes.
struct CallSize {
    std::uint32_t index = 0;
    auto operator<=>(const CallSize&) const = default;
};

/// The sizes and offsets of a draft for calls of any length. Each is the offset of a position (see
/// Positions), or the bytes before a chunk, or a sum of the lengths of chunks; the first one is 0.
struct MessageSizes {
    struct Entry {
        enum class Is : std::uint8_t {
            in_input,
            in_output,
            before_chunk,
            sum
        } is = Is::before_chunk;
        int number = 0;                          ///< the position or the chunk
        CallSize base = {}, to = {}, from = {};  ///< of a sum: base + to - from
    };

    CollectiveSpec spec;
    Rank me;
    int chunks;
    std::vector<Entry> entries = {};  ///< each depends on earlier ones only
    /// The most bytes that each can have in the largest call, and in calls that have no longer
    /// blocks of any type.
    std::vector<std::size_t> most = {};

    /// Writes the sizes for a call, by index.
    void evaluate(const Call& call, std::span<std::size_t> bytes) const;
};

/// A location in one of the memories that Place names. In place, locations in the input may be
/// given in the output, and the reverse.
struct DraftPlace {
    Place::In in;
    CallSize offset;
};

struct DraftMessage {
    Rank peer;
    DraftPlace place;
    CallSize bytes;
};

/// out = sources combined in order.
struct DraftMove {
    DraftPlace out;
    std::vector<DraftPlace> sources;
    CallSize bytes;
};

struct DraftStep {
    int number;
    std::vector<DraftMove> packing = {};  ///< before the messages are posted
    std::vector<DraftMessage> receives = {}, sends = {};
    std::vector<DraftMove> moves = {};  ///< after all have arrived
};

/// One lane of one rank's part by messages, before memory is allocated and before the count, the
/// type and the operation are known. Messages and moves may be empty in a call.
struct MessageDraft {
    MessageSizes sizes;
    std::vector<DraftStep> steps = {};
    std::vector<DraftMove> settling = {};         ///< at the end: results not at their destination
    std::size_t plan = 0, inbox = 0, outbox = 0;  ///< bytes needed at most

    /// Returns the most bytes of a message or move.
    std::size_t most(const auto& entry) const { return at(sizes.most, entry.bytes.index); }
};

/// Makes a draft for each lane, whose largest call is that of the request. All data sent from one
/// rank to another in a step of a lane is one message; its chunks have the order of the schedule on
/// both sides.
std::vector<MessageDraft> draft_messages(const PlanRequest& request, Rank me);

}  // namespace tutti
