// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/program/pushes.hpp"

namespace tutti {

std::optional<int> PushTerms::push_step(const Sender& sender, const Receiver& receiver, int step) {
    if (!receiver.is_open) return std::nullopt;
    // Pushes in the very pass that computes the value; the sender may read the old value there,
    // too.
    if (sender.computed_in && receiver.last_use < *sender.computed_in &&
        receiver.last_read_by_sender <= *sender.computed_in)
        return sender.computed_in;
    // Ranks cannot wait in a circle, for one of three reasons. The pushing rank receives nothing in
    // this step; or all ranks wait for pushes only after it; or loads strictly increase from
    // pushing to reading ranks.
    if (sender.from_input && sender.load < receiver.load && receiver.last_use < step &&
        receiver.last_read_by_sender < step)
        return step;
    return std::nullopt;
}

auto PushTerms::for_peer(Rank peer) const -> const ForPeer& {
    static const ForPeer none;
    const auto known = by_peer.find(peer);
    return known == by_peer.end() ? none : known->second;
}

auto ProposedPushes::to(Rank receiver, int, const PushTerms::Sender& own) -> std::optional<Push> {
    terms_.by_peer[receiver].as_sender.push_back(own);
    return std::nullopt;
}

std::optional<int> ProposedPushes::from(Rank sender, int, const PushTerms::Receiver& own) {
    terms_.by_peer[sender].as_receiver.push_back(own);
    return std::nullopt;
}

auto AgreedPushes::to(Rank receiver, int step, const PushTerms::Sender&) -> std::optional<Push> {
    Peer& peer = peers_.at(receiver);
    const std::size_t number = peer.sent++;
    const PushTerms::Receiver theirs = peer.theirs.as_receiver[number];
    const auto when = PushTerms::push_step(peer.own.as_sender[number], theirs, step);
    if (!when) return std::nullopt;
    return Push{*when, theirs.place, theirs.last_use};
}

std::optional<int> AgreedPushes::from(Rank sender, int step, const PushTerms::Receiver&) {
    Peer& peer = peers_.at(sender);
    const std::size_t number = peer.received++;
    return PushTerms::push_step(peer.theirs.as_sender[number], peer.own.as_receiver[number], step);
}

}  // namespace tutti
