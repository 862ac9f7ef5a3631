// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct/direct_program.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

ProgramMemory::ProgramMemory(const DirectProgram& program, const Layout& layout, std::size_t copied)
    : slots_(program.copies_input ? round_up(copied, cache_line) : 0),
      slot_bytes_(round_up(layout.most_bytes_of_chunk(), cache_line)),
      bytes_(slots_ + as_size(program.slots) * slot_bytes_) {}

std::size_t most_program_bytes(const DirectProgram& program, const CollectiveSpec& spec, int chunks,
                               std::size_t block) {
    constexpr std::size_t most_bytes_of_element = 16;
    const std::size_t chunk =
        block / as_size(chunks / static_cast<int>(spec.blocks())) + most_bytes_of_element;
    const std::size_t copy = program.copies_input ? as_size(spec.ranks()) * block : 0;
    return round_up(copy, cache_line) + as_size(program.slots) * round_up(chunk, cache_line);
}

void leave_out_implied_dependencies(DirectProgram& program) {
    std::vector<int> waited_for(program.published.size(), -1);
    const auto leave_out = [&](std::vector<Dependency>& dependencies) {
        std::ranges::sort(dependencies, [](const Dependency& a, const Dependency& b) {
            return a.steps != b.steps ? a.steps > b.steps : a.peer.index < b.peer.index;
        });
        std::erase_if(dependencies, [&](const Dependency& one) {
            int& waited = at(waited_for, one.peer);
            if (one.steps <= waited) return true;
            waited = one.steps;
            return false;
        });
    };
    for (DirectStep& step : program.steps) leave_out(step.dependencies);
    leave_out(program.last_readers);
}

void mark_kept_results(DirectProgram& program) {
    int last_read = 0;  // one more than the step
    for (const Dependency& reader : program.last_readers)
        last_read = std::max(last_read, reader.steps);
    const auto is_of_peer = [](const MovePlace& source) { return source.peer.has_value(); };
    // If there are several peers, some may hold their parts in their plans' memory, which is read
    // while all parts are added.
    for (DirectStep& step : program.steps)
        step.keeps_results = step.number + 1 >= last_read &&
                             std::ranges::all_of(step.moves, [&](const DirectMove& move) {
                                 return std::ranges::count_if(move.sources, is_of_peer) <= 1;
                             });
}

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
