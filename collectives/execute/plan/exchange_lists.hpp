// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// Sends each rank's list for each peer, by receiver; returns the received lists by sender. T is
/// trivially copyable. Collective; outside of measured time, because a World exchanges lists of
/// varying length as text.
template <class T>
std::vector<std::vector<T>> exchanged(World& world, const std::vector<std::vector<T>>& by_peer) {
    std::string mine;
    for (const auto& for_peer : by_peer) {
        const std::uint64_t size = for_peer.size();
        mine.append(reinterpret_cast<const char*>(&size), sizeof size);
        mine.append(reinterpret_cast<const char*>(for_peer.data()), size * sizeof(T));
    }
    std::vector<std::vector<T>> received;
    for (const std::string& of_peer : gather_all_texts(world, mine)) {
        std::string_view text = of_peer;
        for (int peer = 0;; ++peer) {
            std::uint64_t size = 0;
            std::memcpy(&size, text.data(), sizeof size);
            text.remove_prefix(sizeof size);
            if (peer == world.rank().index) {
                auto& for_me = received.emplace_back(size);
                if (size > 0)
                    std::memcpy(static_cast<void*>(for_me.data()), text.data(), size * sizeof(T));
                break;
            }
            text.remove_prefix(size * sizeof(T));
        }
    }
    return received;
}

}  // namespace tutti
