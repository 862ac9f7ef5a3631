// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/moves.hpp"

#include <cstring>

namespace tutti {

void Moves::add(std::span<std::byte* const> outs, std::span<const std::byte* const> sources,
                std::size_t bytes, Stores stores) {
    if (bytes == 0 || (sources.size() == 1 && outs.size() == 1 && sources[0] == outs[0])) return;
    if (moves_.size() > joinable_from_ && joins(moves_.back(), outs, sources, stores)) {
        moves_.back().bytes += bytes;
        return;
    }
    moves_.push_back({bytes, static_cast<std::uint32_t>(outs_.size()),
                      static_cast<std::uint32_t>(outs.size()),
                      static_cast<std::uint32_t>(sources_.size()),
                      static_cast<std::uint32_t>(sources.size()), stores});
    outs_.insert(outs_.end(), outs.begin(), outs.end());
    sources_.insert(sources_.end(), sources.begin(), sources.end());
}

bool Moves::joins(const Move& last, std::span<std::byte* const> outs,
                  std::span<const std::byte* const> sources, Stores stores) const {
    if (last.outs != outs.size() || last.sources != sources.size() || last.stores != stores)
        return false;
    for (std::size_t i = 0; i < outs.size(); ++i)
        if (outs_[last.first_out + i] + last.bytes != outs[i]) return false;
    for (std::size_t i = 0; i < sources.size(); ++i)
        if (sources_[last.first_source + i] + last.bytes != sources[i]) return false;
    return true;
}

void Moves::run(std::uint32_t first, std::uint32_t end) const {
    for (std::uint32_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        std::byte* const* outs = &outs_[move.first_out];
        const std::byte* const* sources = &sources_[move.first_source];
        if (move.outs == 1 && move.sources == 1 && move.stores == Stores::cached)
            std::memcpy(outs[0], sources[0], move.bytes);
        else
            (move.stores == Stores::cached ? reduce_ : streaming_reduce_)(
                outs, move.outs, sources, move.sources, move.bytes / element_size_);
    }
}

}  // namespace tutti
