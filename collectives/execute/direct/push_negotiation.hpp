// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// A rank that computes a chunk can write it straight into the results of the ranks that need it (a
/// *push*), instead of letting them read it: this saves a pass over memory and a signal. It also
/// spreads work: where one rank would have to read from many idle ones, they write to it.
///
/// That takes two: the sender knows when it has the value, the receiver when its place is free. So
/// each sends the other its terms, and both decide by the same rule. One entry for each chunk
/// copied between two ranks, in the order of the schedule.
struct PushTerms {
    struct Sender {
        /// The step in which it computes the chunk; its value is then kept until it is sent.
        std::optional<int> computed_in;
        bool from_input = false;  ///< the chunk is as the sender's caller gave it
        int load = 0;             ///< chunks to handle in the step of the transfer, if it pushes
    };
    struct Receiver {
        bool is_open = false;  ///< the place can be written by the sender at all, if late enough
        Place place = {};
        int last_use = -1;             ///< step in which the receiver last uses the place before
        int last_read_by_sender = -1;  ///< and the sender
        int load = 0;                  ///< chunks to handle in that step, if it reads
    };
    std::vector<std::vector<Sender>> as_sender;      ///< of this rank, by receiver
    std::vector<std::vector<Receiver>> as_receiver;  ///< of this rank, by sender

    /// The step in which the sender writes into the receiver's place, for the transfer of `step`;
    /// nothing: the receiver reads it.
    static std::optional<int> push_step(const Sender& sender, const Receiver& receiver, int step);
};

/// The terms that this rank has sent to its peers, and theirs.
struct PushNegotiation {
    PushTerms own;
    std::vector<std::vector<PushTerms::Sender>> senders;      ///< by sender
    std::vector<std::vector<PushTerms::Receiver>> receivers;  ///< by receiver
};

/// Exchanges the terms of all ranks. Collective.
PushNegotiation negotiate_pushes(World& world, PushTerms own);

/// Decides for a compiler which chunks are pushed. It is asked once for each chunk copied between
/// this rank and another, in the order of the schedule.
class Pushes {
public:
    struct Push {
        int step;
        Place place;   ///< of the receiver
        int last_use;  ///< by the receiver, which must have finished that step
    };

    virtual ~Pushes() = default;
    /// How this rank pushes the chunk to `receiver`; nothing: publish it.
    virtual std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) = 0;
    /// The step in which `sender` pushes the chunk here; nothing: read it.
    virtual std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) = 0;
};

/// Before the negotiation: notes this rank's terms, and nothing is pushed.
class ProposedPushes final : public Pushes {
public:
    explicit ProposedPushes(int ranks);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;
    PushTerms take_terms() { return std::move(terms_); }

private:
    PushTerms terms_;
};

/// After it. The terms that were exchanged count, as a program with pushes would have others.
class AgreedPushes final : public Pushes {
public:
    explicit AgreedPushes(const PushNegotiation& negotiation);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;

private:
    const PushNegotiation& negotiation_;
    std::vector<std::size_t> sent_, received_;  // by peer: chunks copied so far
};

}  // namespace tutti
