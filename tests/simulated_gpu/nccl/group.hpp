// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tests/simulated_gpu/nccl/mailbox.hpp"

namespace tutti::simulated {

/// One message of a call, in the order of the calls between two ranks.
struct Message {
    enum class Direction : std::uint8_t { out, in };
    Direction direction;
    int peer;
    std::span<std::byte> memory;
    std::uint64_t sort;    ///< both ends must have asked for the same: type, operation, root
    std::size_t done = 0;  ///< with the envelope that goes before it
};

/// What a call is: messages, and what is left to do when all have come.
struct Work {
    std::vector<Message> messages = {};
    std::function<void()> finish = [] {};
    std::shared_ptr<std::vector<std::byte>> inbox = {};
};

/// The calls of one group on one communicator: one unit, whose messages go on together.
class Group {
public:
    void add(Work work) { works_.push_back(std::move(work)); }

    /// Moves what can be moved; true once all is done. Throws std::runtime_error if two ranks have
    /// asked for what does not go together.
    bool go_on(Mailbox& mailbox, int me);

private:
    std::vector<Work> works_;
};

}  // namespace tutti::simulated
