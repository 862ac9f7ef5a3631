// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// Where bytes lie: in the user's buffers, or at an offset of scratch, inbox or outbox, whose size
/// is only known when all steps are read.
struct Spot {
    enum class In : std::uint8_t { input, output, scratch, inbox, outbox } in;
    std::size_t offset;
    bool operator==(const Spot&) const = default;
    Spot behind(std::size_t bytes) const { return {in, offset + bytes}; }
};

struct DraftMessage {
    Rank peer;
    Spot spot;
    std::size_t bytes;
};

/// out = sources combined in order.
struct DraftMove {
    Spot out;
    std::vector<Spot> sources;
    std::size_t bytes;
};

struct DraftStep {
    int number;
    std::vector<DraftMove> packing = {};  ///< before the messages are posted
    std::vector<DraftMessage> receives = {}, sends = {};
    std::vector<DraftMove> moves = {};  ///< after all have come
};

/// One lane of one rank's part by messages, before memory is allocated.
struct MessageDraft {
    std::vector<DraftStep> steps;
    std::vector<DraftMove> settling;  ///< at the end: results that are not where they belong
    std::size_t scratch = 0, inbox = 0, outbox = 0;  ///< bytes needed
};

/// A draft for each lane. The messages between two ranks in a step of a lane are one message,
/// chunks in the order said; both sides see the same order.
std::vector<MessageDraft> draft_messages(const PlanRequest& request, Rank me);

}  // namespace tutti
