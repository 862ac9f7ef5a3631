// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/program/pushes.hpp"

#include "base/index.hpp"

namespace tutti {

std::optional<int> PushTerms::push_step(const Sender& sender, const Receiver& receiver, int step) {
    if (!receiver.is_open) return std::nullopt;
    // Pushes in the very pass that computes the value; the sender may read the old value there,
    // too.
    if (sender.computed_in && receiver.last_use < *sender.computed_in &&
        receiver.last_read_by_sender <= *sender.computed_in)
        return sender.computed_in;
    // Loads strictly increase from pushing to reading ranks, so ranks cannot wait in a circle.
    if (sender.from_input && sender.load < receiver.load && receiver.last_use < step &&
        receiver.last_read_by_sender < step)
        return step;
    return std::nullopt;
}

ProposedPushes::ProposedPushes(int ranks) {
    terms_.as_sender.resize(as_size(ranks));
    terms_.as_receiver.resize(as_size(ranks));
}

auto ProposedPushes::to(Rank receiver, int, const PushTerms::Sender& own) -> std::optional<Push> {
    at(terms_.as_sender, receiver).push_back(own);
    return std::nullopt;
}

std::optional<int> ProposedPushes::from(Rank sender, int, const PushTerms::Receiver& own) {
    at(terms_.as_receiver, sender).push_back(own);
    return std::nullopt;
}

AgreedPushes::AgreedPushes(const PushNegotiation& negotiation)
    : negotiation_(negotiation),
      sent_(negotiation.own.as_sender.size()),
      received_(negotiation.own.as_receiver.size()) {}

auto AgreedPushes::to(Rank receiver, int step, const PushTerms::Sender&) -> std::optional<Push> {
    const std::size_t number = at(sent_, receiver)++;
    const auto& theirs = at(negotiation_.receivers, receiver)[number];
    const auto& ours = at(negotiation_.own.as_sender, receiver)[number];
    const auto when = PushTerms::push_step(ours, theirs, step);
    if (!when) return std::nullopt;
    return Push{*when, theirs.place, theirs.last_use};
}

std::optional<int> AgreedPushes::from(Rank sender, int step, const PushTerms::Receiver&) {
    const std::size_t number = at(received_, sender)++;
    return PushTerms::push_step(at(negotiation_.senders, sender)[number],
                                at(negotiation_.own.as_receiver, sender)[number], step);
}

}  // namespace tutti
