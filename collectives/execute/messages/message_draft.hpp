// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

struct DraftMessage {
    Rank peer;
    Place place;
    std::size_t bytes;
};

/// out = sources combined in order.
struct DraftMove {
    Place out;
    std::vector<Place> sources;
    std::size_t bytes;
};

struct DraftStep {
    int number;
    std::vector<DraftMove> packing = {};  ///< before the messages are posted
    std::vector<DraftMessage> receives = {}, sends = {};
    std::vector<DraftMove> moves = {};  ///< after all have arrived
};

/// One lane of one rank's part by messages, before memory is allocated.
struct MessageDraft {
    std::vector<DraftStep> steps;
    std::vector<DraftMove> settling;  ///< at the end: results that are not at their destination
    std::size_t plan = 0, inbox = 0, outbox = 0;  ///< bytes needed
};

/// Makes a draft for each lane. All data sent from one rank to another in a step of a lane is one
/// message; its chunks have the order of the schedule on both sides.
std::vector<MessageDraft> draft_messages(const PlanRequest& request, Rank me);

}  // namespace tutti
