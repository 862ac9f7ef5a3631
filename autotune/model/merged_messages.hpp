// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "autotune/model/message_sizes.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// Transfers between two ranks, in one lane, that are said one behind the other.
struct Message {
    Transfer first;
    double bytes = 0;
    int parts = 0;  ///< runs of neighbouring chunks
    int end = 0;    ///< of the last run
};

/// Calls visit(message) for the messages of a step; chunks without bytes are left out.
template <class Visit>
void for_each_message(const std::vector<Transfer>& transfers, const MessageSizes& sizes,
                      const Lanes& lanes, Visit&& visit) {
    Message message;
    for (const Transfer& transfer : transfers) {
        const double bytes = sizes.of(transfer.chunks);
        if (bytes == 0) continue;
        const Transfer& first = message.first;
        const bool goes_on =
            message.parts > 0 && first.from == transfer.from && first.to == transfer.to &&
            first.action == transfer.action &&
            lanes.lane_of(first.chunks.first) == lanes.lane_of(transfer.chunks.first);
        if (!goes_on) {
            if (message.parts > 0) visit(message);
            message = {transfer, 0, 0, -1};
        }
        message.bytes += bytes;
        if (message.end != transfer.chunks.first) ++message.parts;
        message.end = transfer.chunks.first + transfer.chunks.count;
    }
    if (message.parts > 0) visit(message);
}

}  // namespace tutti
