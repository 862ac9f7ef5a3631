// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tests/simulated_gpu/nccl/mailbox.hpp"
#include "tests/simulated_gpu/nccl/plugins.hpp"

namespace tutti::simulated {

/// One message of a call, in the order of the calls between two ranks.
struct Message {
    enum class Direction : std::uint8_t { out, in };
    Direction direction;
    int peer;
    std::span<std::byte> memory;
    std::uint64_t sort;    ///< must be equal at both ends: type, operation, root
    std::size_t done = 0;  ///< including the envelope before it
};

/// A call: its messages, and the work that remains when all have arrived.
struct Work {
    std::vector<Message> messages = {};
    std::function<void()> finish = [] {};
    std::shared_ptr<std::vector<std::byte>> inbox = {};
    Described description = {};
    void* handle = nullptr;  ///< the profiler's
};

/// The calls of one group on one communicator; their messages advance together.
class Group {
public:
    void add(Work work) { works_.push_back(std::move(work)); }

    /// Advances all messages as far as possible; returns true once all are done. Throws
    /// std::runtime_error if the requests of two ranks do not match.
    bool go_on(Mailbox& mailbox, int me);

    std::vector<Work>& works() { return works_; }

private:
    std::vector<Work> works_;
};

}  // namespace tutti::simulated
