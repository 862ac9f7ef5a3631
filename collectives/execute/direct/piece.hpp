// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "base/index.hpp"
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/execute/direct/mapped_buffers.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

/// Stored at the start of a rank's piece of the plan's shared memory. The counter has its own cache
/// line.
struct Head {
    alignas(cache_line)
        std::uint64_t counter;  // steps finished by the rank, over all runs; see keeps_results
    alignas(cache_line) std::uint64_t sleepers;  // peers that sleep until the counter changes
    std::uint64_t published;                     // offset of the lists of places
    PublishedBuffers buffers;                    // for peers that access them
};

/// A rank's piece: head | plan memory | places published to each peer.
struct PieceLayout {
    static constexpr std::size_t memory = sizeof(Head);

    explicit PieceLayout(const DirectProgram& program) {
        std::size_t places = 0;
        for (const auto& to_peer : program.published) places += to_peer.size();
        published = memory + program.plan_bytes;
        bytes =
            published + program.published.size() * sizeof(std::uint64_t) + places * sizeof(Place);
    }
    std::size_t published, bytes;
};

/// Writes, once, for each peer the offset of its list of places, and then the lists.
inline void publish_places(const DirectProgram& program, std::span<std::byte> piece) {
    const PieceLayout layout(program);
    reinterpret_cast<Head*>(piece.data())->published = layout.published;
    auto* starts = reinterpret_cast<std::uint64_t*>(&piece[layout.published]);
    auto* next = reinterpret_cast<Place*>(starts + program.published.size());
    for (std::size_t peer = 0; peer < program.published.size(); ++peer) {
        starts[peer] =
            static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(next) - piece.data());
        for (const Place place : program.published[peer]) *next++ = place;
    }
}

/// Returns the place with that number in the peer's list for this rank.
inline Place published_to(Rank me, std::uint64_t number, std::span<const std::byte> piece_of_peer) {
    const auto* head = reinterpret_cast<const Head*>(piece_of_peer.data());
    const auto* starts = reinterpret_cast<const std::uint64_t*>(&piece_of_peer[head->published]);
    Place place;
    std::memcpy(&place, &piece_of_peer[starts[as_size(me)] + sizeof place * number], sizeof place);
    return place;
}

}  // namespace tutti
