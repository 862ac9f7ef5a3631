// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>

#include "base/stepped_list.hpp"
#include "collectives/execute/program/program.hpp"

namespace tutti {

/// A rank that computes a chunk can write it straight into the results of the ranks that need it (a
/// *push*), instead of letting them read it: this saves a pass over memory and a signal. It also
/// spreads work: if one rank would read from many idle ranks, they write to it instead.
///
/// Both sides decide by the same rule, from the terms of both: the sender knows when it has the
/// value, the receiver when its place is free. There is one entry for each chunk copied between two
/// ranks, in the order of the schedule.
struct PushTerms {
    struct Sender {
        /// The step in which it computes the chunk; it keeps the value until it is sent.
        std::optional<int> computed_in;
        bool from_input = false;  ///< the chunk is unchanged from the sender's input
        int load = 0;             ///< in the step of the transfer, if it pushes

        bool operator==(const Sender&) const = default;
        Sender after(int chunks) const {
            Sender next = *this;
            next.load += chunks;
            return next;
        }
        int steps_to(const Sender& next) const { return next.load - load; }
    };
    struct Receiver {
        bool is_open = false;  ///< whether the sender can ever write the place, if late enough
        ChunkPlace place = {};
        int last_use = -1;             ///< last step before in which the receiver uses the place
        int last_read_by_sender = -1;  ///< last step before in which the sender does
        int load = 0;                  ///< chunks to handle in that step, if it reads

        bool operator==(const Receiver&) const = default;
        Receiver after(int chunks) const {
            Receiver next = *this;
            next.place = place.after(chunks);
            return next;
        }
        int steps_to(const Receiver& next) const { return place.steps_to(next.place); }
    };
    /// Those for one peer. The chunks of a transfer mostly have the same ones.
    struct ForPeer {
        SteppedList<Sender> as_sender;
        SteppedList<Receiver> as_receiver;
    };
    std::map<Rank, ForPeer> by_peer;

    /// Returns those for a peer, which may be none.
    const ForPeer& for_peer(Rank peer) const;
    /// Returns the step in which the sender writes into the receiver's place, for the transfer of
    /// `step`; nothing if the receiver reads it.
    static std::optional<int> push_step(const Sender& sender, const Receiver& receiver, int step);
};

/// Decides for a compiler which chunks are pushed. It is called once for each chunk copied between
/// this rank and another, in the order of the schedule.
class Pushes {
public:
    struct Push {
        int step;
        ChunkPlace place;  ///< at the receiver
        int last_use;      ///< the receiver must have finished this step
    };

    virtual ~Pushes() = default;
    /// Returns how this rank pushes the chunk to `receiver`; nothing if it publishes the chunk.
    virtual std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) = 0;
    /// Returns the step in which `sender` pushes the chunk here; nothing if this rank reads it.
    virtual std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) = 0;
};

/// Records this rank's terms before the negotiation; nothing is pushed.
class ProposedPushes final : public Pushes {
public:
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;
    PushTerms take_terms() { return std::move(terms_); }

private:
    PushTerms terms_;
};

/// Applies the rule to the terms of this rank and its peers, which are those before any push: a
/// program with pushes would have others.
class AgreedPushes final : public Pushes {
public:
    /// Adds a peer: this rank's terms for it, and its terms for this rank. Both must outlive this.
    void agree(Rank peer, const PushTerms::ForPeer& own, const PushTerms::ForPeer& theirs) {
        peers_.emplace(peer, Peer{own, theirs});
    }
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;

private:
    struct Peer {
        const PushTerms::ForPeer &own, &theirs;
        std::size_t sent = 0, received = 0;  // chunks copied so far
    };
    std::map<Rank, Peer> peers_;
};

}  // namespace tutti
