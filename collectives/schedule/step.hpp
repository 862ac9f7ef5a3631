// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "collectives/schedule/transfer.hpp"

namespace tutti {

/// Where an algorithm says a step's transfers, in order. Nothing is stored: each goes to the
/// listener at once, so a step of millions of transfers costs no memory. Transfers that arrive at
/// the same chunk of the same rank are applied in the order in which they were said.
class Step {
public:
    using Listener = void (*)(void* context, const Transfer&);

    /// With `only`, the listener hears just the transfers from or to that rank.
    Step(Listener listener, void* context, std::optional<Rank> only)
        : listener_(listener), context_(context), only_(only.value_or(Rank{-1})) {}

    void copy(Transfer transfer) {
        transfer.action = Action::copy;
        say(transfer);
    }

    void reduce(Transfer transfer) {
        transfer.action = Action::reduce;
        say(transfer);
    }

    void say(const Transfer& transfer) {
        if (transfer.chunks.count > 0 && concerns(transfer.from, transfer.to))
            listener_(context_, transfer);
    }

    /// False if nobody listens to transfers between these two: lets an algorithm skip a long inner
    /// loop when one rank's plan is built. Never needed for correctness.
    bool concerns(Rank from, Rank to) const {
        return only_.index < 0 || from == only_ || to == only_;
    }

    std::optional<Rank> only() const {
        return only_.index < 0 ? std::nullopt : std::optional<Rank>(only_);
    }

private:
    Listener listener_;
    void* context_;
    Rank only_;
};

}  // namespace tutti
