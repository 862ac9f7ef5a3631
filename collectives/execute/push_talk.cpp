// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/push_talk.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace tutti {
namespace {

// Each rank's facts for each other: text is what a World can exchange in any length.
template <class Fact>
void append(std::string& text, const std::vector<std::vector<Fact>>& by_peer) {
    for (const auto& of_peer : by_peer) {
        const std::uint64_t size = of_peer.size();
        text.append(reinterpret_cast<const char*>(&size), sizeof size);
        text.append(reinterpret_cast<const char*>(of_peer.data()), size * sizeof(Fact));
    }
}

// What is there for `me`.
template <class Fact>
std::vector<Fact> take(std::string_view& text, std::size_t ranks, Rank me) {
    std::vector<Fact> for_me;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
        std::uint64_t size = 0;
        std::memcpy(&size, text.data(), sizeof size);
        text.remove_prefix(sizeof size);
        if (peer == static_cast<std::size_t>(me.index)) {
            for_me.resize(size);
            if (size > 0)
                std::memcpy(static_cast<void*>(for_me.data()), text.data(), size * sizeof(Fact));
        }
        text.remove_prefix(size * sizeof(Fact));
    }
    return for_me;
}

}  // namespace

PushTalk talk_of(World& world, PushFacts told) {
    PushTalk talk{std::move(told), {}};
    std::string mine;
    append(mine, talk.told.havings);
    append(mine, talk.told.offers);
    for (const std::string& of_peer : gathered_texts(world, mine)) {
        std::string_view text = of_peer;
        const auto ranks = static_cast<std::size_t>(world.size());
        talk.heard.havings.push_back(take<PushFacts::Having>(text, ranks, world.rank()));
        talk.heard.offers.push_back(take<PushFacts::Offer>(text, ranks, world.rank()));
    }
    return talk;
}

}  // namespace tutti
