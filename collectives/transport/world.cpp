// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/world.hpp"

#include <algorithm>

namespace tutti {

std::vector<std::string> gathered_texts(World& world, const std::string& mine) {
    const auto sizes = gathered(world, mine.size());
    const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
    std::string padded = mine;
    padded.resize(longest);
    std::vector<std::byte> all(longest * sizes.size());
    world.all_gather(std::as_bytes(std::span(padded)), all);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        texts.emplace_back(reinterpret_cast<const char*>(all.data()) + rank * longest, sizes[rank]);
    return texts;
}

}  // namespace tutti
