// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/moves.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

// A piece of another process's memory is still in the second-level cache when it is added; the
// system call costs a few percent of copying it.
constexpr std::size_t piece = 128 * 1024;

bool in_same_buffer(const CallerMemory& caller, const std::byte* one, const std::byte* other) {
    const auto place = caller.place_of(one), other_place = caller.place_of(other);
    return place && other_place ? place->in == other_place->in : place == other_place;
}

}  // namespace

void Moves::add(std::span<std::byte* const> outs, std::span<const Source> sources,
                std::size_t bytes, bool is_final) {
    const bool single_copy = std::any_of(sources.begin(), sources.end(), [](const Source& source) {
        return source.peer != nullptr;
    });
    const bool is_in_place =
        outs.size() == 1 && sources.size() == 1 && !single_copy && sources[0].address == outs[0];
    if (bytes == 0 || is_in_place) return;
    if (moves_.size() > joinable_from_ && joins(moves_.back(), outs, sources, is_final)) {
        moves_.back().bytes += bytes;
        return;
    }
    moves_.push_back({bytes, static_cast<std::uint32_t>(outs_.size()),
                      static_cast<std::uint32_t>(outs.size()),
                      static_cast<std::uint32_t>(sources_.size()),
                      static_cast<std::uint32_t>(sources.size()), is_final, single_copy});
    outs_.insert(outs_.end(), outs.begin(), outs.end());
    for (const Source& source : sources) {
        sources_.push_back(source.address);
        all_sources_.push_back(source);
    }
    part_sources_.resize(std::max(part_sources_.size(), sources.size()));
    part_outs_.resize(std::max(part_outs_.size(), outs.size()));
    if (single_copy) copied_in_.resize(std::max(copied_in_.size(), sources.size() * piece));
}

// The caller's two buffers may be neighbours now, and lie elsewhere after rebind().
bool Moves::follows(const std::byte* last, std::size_t bytes, const std::byte* next) const {
    return last + bytes == next && in_same_buffer(caller_, last, next);
}

void Moves::rebind(const CallerMemory& caller) {
    for (std::byte*& out : outs_) out = caller_.carried(out, caller);
    for (const std::byte*& source : sources_) source = caller_.carried(source, caller);
    caller_ = caller;
}

bool Moves::joins(const Move& last, std::span<std::byte* const> outs,
                  std::span<const Source> sources, bool is_final) const {
    if (last.outs != outs.size() || last.sources != sources.size() || last.is_final != is_final)
        return false;
    for (std::size_t i = 0; i < outs.size(); ++i)
        if (!follows(outs_[last.first_out + i], last.bytes, outs[i])) return false;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Source& before = all_sources_[last.first_source + i];
        if (before.peer != sources[i].peer) return false;
        const bool continues = before.peer != nullptr
                                   ? before.offset + last.bytes == sources[i].offset
                                   : follows(before.address, last.bytes, sources[i].address);
        if (!continues) return false;
    }
    return true;
}

void Moves::run(std::uint32_t first, std::uint32_t end, double streaming_share) {
    for (std::uint32_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        std::byte* const* outs = &outs_[move.first_out];
        const std::byte* const* sources = &sources_[move.first_source];
        if (queue_ != nullptr)
            queue(move);
        else if (move.single_copy)
            single_copy(move);
        else if (move.is_final && streaming_share > 0)
            stream_in_part(move, streaming_share);
        else if (move.outs == 1 && move.sources == 1)
            std::memcpy(outs[0], sources[0], move.bytes);
        else
            reduce_(outs, move.outs, sources, move.sources, move.bytes / element_size_);
    }
}

void Moves::queue(const Move& move) {
    const std::span outs(&outs_[move.first_out], move.outs);
    const std::span sources(&sources_[move.first_source], move.sources);
    if (move.outs == 1 && move.sources == 1)
        queue_->copy(outs[0], sources[0], move.bytes);
    else
        queue_->combine(type_, op_, outs, sources, move.bytes / element_size_);
}

// The first part may stay in the cache, to be written over there by the next call.
void Moves::stream_in_part(const Move& move, double share) {
    const std::size_t all = move.bytes / element_size_;
    const auto cached =
        static_cast<std::size_t>((1 - share) * static_cast<double>(all)) / 64 * 64;  // whole lines
    if (cached > 0)
        reduce_(&outs_[move.first_out], move.outs, &sources_[move.first_source], move.sources,
                cached);
    for (std::uint32_t i = 0; i < move.outs; ++i)
        part_outs_[i] = outs_[move.first_out + i] + cached * element_size_;
    for (std::uint32_t i = 0; i < move.sources; ++i)
        part_sources_[i] = sources_[move.first_source + i] + cached * element_size_;
    streaming_reduce_(part_outs_.data(), move.outs, part_sources_.data(), move.sources,
                      all - cached);
}

// A copy goes straight to its place; what is to be combined, piece by piece into the cache.
void Moves::single_copy(const Move& move) {
    std::byte* const* outs = &outs_[move.first_out];
    const std::byte* const* here = &sources_[move.first_source];
    const Source* sources = &all_sources_[move.first_source];
    const auto there = [&](const Source& source, std::size_t done) {
        return PeerMemory{source.peer->process, source.peer->address + source.offset + done};
    };
    if (move.sources == 1) {
        there(sources[0], 0).read(outs[0], move.bytes);
        for (std::uint32_t i = 1; i < move.outs; ++i) std::memcpy(outs[i], outs[0], move.bytes);
        return;
    }
    for (std::size_t done = 0; done < move.bytes; done += piece) {
        const std::size_t bytes = std::min(piece, move.bytes - done);
        for (std::uint32_t i = 0; i < move.sources; ++i) {
            if (sources[i].peer == nullptr) {
                part_sources_[i] = here[i] + done;
                continue;
            }
            there(sources[i], done).read(&copied_in_[i * piece], bytes);
            part_sources_[i] = &copied_in_[i * piece];
        }
        std::byte* const out = outs[0] + done;
        reduce_(&out, 1, part_sources_.data(), move.sources, bytes / element_size_);
        for (std::uint32_t i = 1; i < move.outs; ++i) std::memcpy(outs[i] + done, out, bytes);
    }
}

}  // namespace tutti
