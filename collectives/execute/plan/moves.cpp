// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/moves.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "collectives/world/signal.hpp"
#include "kernels/copy.hpp"

namespace tutti {
namespace {

// Amount of other processes' memory that is read before it is added: each system call costs 2 to 3
// us, and adding from the third-level cache is as fast as from a smaller one. If several sources
// are read to a buffer apart from the result, they share this amount, with at least least_piece for
// each.
constexpr std::size_t most_read = 1024 * 1024, least_piece = 128 * 1024;

// Whether the operand is not in a peer's buffer, which may be replaced by another one.
bool is_own(const Moves::Operand& operand) { return operand.peer == nullptr; }
bool is_far(const Moves::Operand& operand) {
    return !is_own(operand) && operand.address == nullptr;
}

PeerMemory at_peer(const Moves::Operand& far, std::size_t done) {
    return {far.peer->process, far.peer->address + far.offset + done};
}

}  // namespace

void Moves::add(std::span<const Operand> outs, std::span<const Operand> sources, std::size_t bytes,
                bool is_final) {
    const bool is_in_place = outs.size() == 1 && sources.size() == 1 && is_own(outs[0]) &&
                             is_own(sources[0]) && sources[0].address == outs[0].address;
    if (bytes == 0 || is_in_place) return;
    if (moves_.size() > joinable_from_ && joins(moves_.back(), outs, sources, is_final)) {
        moves_.back().bytes += bytes;
        ++moves_.back().blocks;
        make_room_beside(moves_.back());
        return;
    }
    const bool single_copy =
        std::ranges::any_of(sources, is_far) || std::ranges::any_of(outs, is_far);
    moves_.push_back({bytes, 1, static_cast<std::uint32_t>(outs_.size()),
                      static_cast<std::uint32_t>(outs.size()),
                      static_cast<std::uint32_t>(sources_.size()),
                      static_cast<std::uint32_t>(sources.size()), is_final, single_copy});
    for (const Operand& out : outs) outs_.push_back(out.address);
    for (const Operand& source : sources) sources_.push_back(source.address);
    all_outs_.insert(all_outs_.end(), outs.begin(), outs.end());
    all_sources_.insert(all_sources_.end(), sources.begin(), sources.end());
    part_sources_.resize(std::max(part_sources_.size(), sources.size()));
    part_outs_.resize(std::max(part_outs_.size(), outs.size()));
    make_room_beside(moves_.back());
}

bool Moves::replaces_source(const Move& move) const {
    const std::span sources(&sources_[move.first_source], move.sources);
    return std::ranges::find(sources, outs_[move.first_out]) != sources.end();
}

// Counts the sources that single_copy() cannot read into the result.
std::size_t Moves::beside_result(const Move& move) const {
    const std::span sources(&all_sources_[move.first_source], move.sources);
    const auto far = static_cast<std::size_t>(std::ranges::count_if(sources, is_far));
    return replaces_source(move) || far == 0 ? far : far - 1;
}

std::size_t Moves::piece_of(const Move& move) const {
    const std::size_t share = most_read / std::max<std::size_t>(1, beside_result(move));
    return std::min(move.bytes, std::max(least_piece, share / cache_line * cache_line));
}

void Moves::make_room_beside(const Move& move) {
    if (!move.single_copy) return;
    copied_in_.resize(std::max(copied_in_.size(), beside_result(move) * piece_of(move)));
}

// Two buffers of a peer may be neighbours now, but not in the next run. Two parts of the plan's
// memory may be, but not with blocks of another length.
bool Moves::follows(const Operand& last, const Move& move, const Operand& next) const {
    if (one_block_each_ && last.blocks + move.blocks != next.blocks) return false;
    if (last.peer != next.peer) return false;
    if (last.peer != nullptr) return last.offset + move.bytes == next.offset;
    return last.address + move.bytes == next.address;
}

void Moves::use_kernels_for(DataType type, Op op) {
    if (reduce_ != nullptr && type == type_ && op == op_) return;
    type_ = type;
    op_ = op;
    reduce_ = find_reduce(type, op);
}

void Moves::rescale(DataType type, Op op, std::size_t old_block, std::size_t block) {
    if (moves_.empty()) return;  // restart() finds the kernels
    use_kernels_for(type, op);
    const auto growth = static_cast<std::ptrdiff_t>(block - old_block);
    const auto moved = [&](auto& addresses, std::vector<Operand>& operands) {
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            const std::ptrdiff_t by = growth * operands[i].blocks;
            operands[i].offset += static_cast<std::size_t>(by);
            if (addresses[i] != nullptr) addresses[i] += by;
        }
    };
    moved(outs_, all_outs_);
    moved(sources_, all_sources_);
    for (Move& move : moves_) {
        move.bytes = move.blocks * block;
        make_room_beside(move);
    }
}

void Moves::restart(DataType type, Op op, bool one_block_each) {
    use_kernels_for(type, op);
    one_block_each_ = one_block_each;
    moves_.clear();
    outs_.clear();
    sources_.clear();
    all_outs_.clear();
    all_sources_.clear();
    joinable_from_ = 0;
}

void Moves::reserve(std::size_t moves, std::size_t outs, std::size_t sources) {
    moves_.reserve(moves);
    outs_.reserve(outs);
    all_outs_.reserve(outs);
    part_outs_.reserve(outs);
    sources_.reserve(sources);
    all_sources_.reserve(sources);
    part_sources_.reserve(sources);
}

void Moves::place_peer(const PeerMemory& buffer, std::byte* begin) {
    for (std::size_t i = 0; i < outs_.size(); ++i)
        if (all_outs_[i].peer == &buffer) outs_[i] = begin + all_outs_[i].offset;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        if (all_sources_[i].peer == &buffer) sources_[i] = begin + all_sources_[i].offset;
}

bool Moves::joins(const Move& last, std::span<const Operand> outs, std::span<const Operand> sources,
                  bool is_final) const {
    if (last.outs != outs.size() || last.sources != sources.size() || last.is_final != is_final)
        return false;
    const auto all_follow = [&](const Operand* before, std::span<const Operand> next) {
        for (std::size_t i = 0; i < next.size(); ++i)
            if (!follows(before[i], last, next[i])) return false;
        return true;
    };
    return all_follow(all_outs_.data() + last.first_out, outs) &&
           all_follow(all_sources_.data() + last.first_source, sources);
}

void Moves::run(std::uint32_t first, std::uint32_t end, double streaming_share,
                const std::function<void()>* after_reading) {
    for (std::uint32_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        std::byte* const* outs = &outs_[move.first_out];
        const std::byte* const* sources = &sources_[move.first_source];
        if (queue_ != nullptr)
            queue(move);
        else if (move.single_copy)
            single_copy(move, i + 1 == end ? after_reading : nullptr);
        else if (move.is_final && streaming_share > 0)
            stream_in_part(move, streaming_share);
        else if (move.outs == 1 && move.sources == 1)
            copy_in_blocks(outs[0], sources[0], move.bytes);
        else
            reduce_(outs, move.outs, sources, move.sources, elements_in(move.bytes, type_));
    }
}

void Moves::queue(const Move& move) {
    const std::span outs(&outs_[move.first_out], move.outs);
    const std::span sources(&sources_[move.first_source], move.sources);
    if (move.outs == 1 && move.sources == 1)
        queue_->copy(outs[0], sources[0], move.bytes);
    else
        queue_->combine(type_, op_, outs, sources, elements_in(move.bytes, type_));
}

// Stores the first part normally: it may stay in the cache until the next call overwrites it.
void Moves::stream_in_part(const Move& move, double share) {
    const std::size_t all = elements_in(move.bytes, type_);
    const auto cached =
        static_cast<std::size_t>((1 - share) * static_cast<double>(all)) / 64 * 64;  // whole lines
    if (cached > 0)
        reduce_(&outs_[move.first_out], move.outs, &sources_[move.first_source], move.sources,
                cached);
    for (std::uint32_t i = 0; i < move.outs; ++i)
        part_outs_[i] = outs_[move.first_out + i] + cached * size_of(type_);
    for (std::uint32_t i = 0; i < move.sources; ++i)
        part_sources_[i] = sources_[move.first_source + i] + cached * size_of(type_);
    find_reduce(type_, op_, Stores::streaming)(part_outs_.data(), move.outs, part_sources_.data(),
                                               move.sources, all - cached);
}

// Writes a copy for a peer straight from its source. Reads a copy straight to its place. Of sources
// to be combined, reads the first one into the result, unless the result replaces a source, and the
// others into a separate buffer. If there are several results, the first one is in this process.
void Moves::single_copy(const Move& move, const std::function<void()>* after_reading) {
    std::byte* const* outs = &outs_[move.first_out];
    const std::byte* const* here = &sources_[move.first_source];
    const Operand* sources = &all_sources_[move.first_source];
    if (move.sources == 1) {
        if (is_far(all_outs_[move.first_out])) {
            assert(move.outs == 1);
            return at_peer(all_outs_[move.first_out], 0).write(here[0], move.bytes);
        }
        if (is_far(sources[0]))
            at_peer(sources[0], 0).read(outs[0], move.bytes);
        else
            copy_in_blocks(outs[0], here[0], move.bytes);
        return copy_results(move, 0, move.bytes);
    }
    const std::size_t piece = piece_of(move);
    for (std::size_t done = 0; done < move.bytes; done += piece) {
        const std::size_t bytes = std::min(piece, move.bytes - done);
        std::byte* const out = outs[0] + done;
        std::byte* spare = copied_in_.data();
        bool is_out_free = !replaces_source(move);
        for (std::uint32_t i = 0; i < move.sources; ++i) {
            if (!is_far(sources[i])) {
                part_sources_[i] = here[i] + done;
                continue;
            }
            std::byte* const place = is_out_free ? out : spare;
            if (!std::exchange(is_out_free, false)) spare += bytes;
            at_peer(sources[i], done).read(place, bytes);
            part_sources_[i] = place;
        }
        if (after_reading != nullptr && done + bytes == move.bytes) (*after_reading)();
        reduce_(&out, 1, part_sources_.data(), move.sources, elements_in(bytes, type_));
        copy_results(move, done, bytes);
    }
}

// Copies a part of the first result to the others.
void Moves::copy_results(const Move& move, std::size_t done, std::size_t bytes) {
    std::byte* const* outs = &outs_[move.first_out];
    for (std::uint32_t i = 1; i < move.outs; ++i) {
        const Operand& out = all_outs_[move.first_out + i];
        if (is_far(out))
            at_peer(out, done).write(outs[0] + done, bytes);
        else
            copy_in_blocks(outs[i] + done, outs[0] + done, bytes);
    }
}

}  // namespace tutti
