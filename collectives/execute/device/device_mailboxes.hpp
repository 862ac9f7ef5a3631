// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "collectives/execute/device/device_draft.hpp"
#include "collectives/execute/messages/message_draft.hpp"
#include "collectives/world/reachable_memory.hpp"

namespace tutti {

/// The buffers of a call in memory of this rank's device.
struct DeviceRoom {
    const ReachableMemory* memory;
    std::byte *input, *output;
};

/// A rank's part of a small call by messages that carry their flags: the same steps as
/// message_plan, inside a kernel. Each message has lines of its own in the memory of its receiver,
/// for even and for odd runs. A rank that sends has to know that its receiver is done with the run
/// before the last, which it nearly always is.
class LetterDraft {
public:
    /// Collective, as receivers tell senders where their lines are.
    LetterDraft(const PlanRequest& request, World& world);

    /// Memory that the rank needs beside its buffers.
    std::size_t bytes() const { return bytes_; }

    /// `memory_of`: where that memory of a rank begins. `finished`: a rank's counter.
    DeviceDraft with_addresses(const DeviceRoom& room,
                               const std::function<std::byte*(Rank)>& memory_of,
                               const std::function<const std::uint64_t*(Rank)>& finished) const;

private:
    Rank me_;
    DataType type_;
    Op op_;
    int steps_;
    MessageDraft draft_;
    std::size_t inbox_ = 0, outbox_ = 0, bytes_ = 0;       // offsets; scratch begins at 0
    std::vector<std::size_t> own_lines_;                   // of each receive, in order
    std::vector<std::vector<std::size_t>> lines_of_peer_;  // of each send to it, in order
};

}  // namespace tutti
