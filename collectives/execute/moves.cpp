// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/moves.hpp"

#include <cstring>

namespace tutti {

void Moves::add(std::byte* out, std::span<const std::byte* const> sources, std::size_t bytes) {
    if (bytes == 0 || (sources.size() == 1 && sources[0] == out)) return;
    if (moves_.size() > joinable_from_ && joins(moves_.back(), out, sources)) {
        moves_.back().bytes += bytes;
        return;
    }
    moves_.push_back({out, bytes, static_cast<std::uint32_t>(sources_.size()),
                      static_cast<std::uint32_t>(sources.size())});
    sources_.insert(sources_.end(), sources.begin(), sources.end());
}

bool Moves::joins(const Move& last, const std::byte* out,
                  std::span<const std::byte* const> sources) const {
    if (last.out + last.bytes != out || last.sources != sources.size()) return false;
    for (std::size_t i = 0; i < sources.size(); ++i)
        if (sources_[last.first_source + i] + last.bytes != sources[i]) return false;
    return true;
}

void Moves::run(std::uint32_t first, std::uint32_t end) const {
    for (std::uint32_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        const std::byte* const* sources = &sources_[move.first_source];
        if (move.sources == 1)
            std::memcpy(move.out, sources[0], move.bytes);
        else
            reduce_(move.out, sources, move.sources, move.bytes / element_size_);
    }
}

}  // namespace tutti
