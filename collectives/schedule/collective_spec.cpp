// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/collective_spec.hpp"

#include <optional>

#include "base/index.hpp"

namespace tutti {
namespace {

// The ranks that hold a block before or after the collective: all, all but rank 0, the root, the
// rank with the block's number, or one end of a pair (block sender * P + receiver).
enum class Holder { all, all_but_first, root, own, pair };

struct Holders {
    Holder before, after;
};

constexpr Holders holders[] = {
    // in the order of Collective
    {Holder::all, Holder::all},            // all_reduce
    {Holder::all, Holder::own},            // reduce_scatter
    {Holder::own, Holder::all},            // all_gather
    {Holder::root, Holder::all},           // broadcast
    {Holder::all, Holder::root},           // reduce
    {Holder::root, Holder::own},           // scatter
    {Holder::own, Holder::root},           // gather
    {Holder::pair, Holder::pair},          // all_to_all
    {Holder::all, Holder::all},            // barrier
    {Holder::all, Holder::all},            // scan
    {Holder::all, Holder::all_but_first},  // exscan
};

Holder before(Collective collective) { return at(holders, collective).before; }
Holder after(Collective collective) { return at(holders, collective).after; }

}  // namespace

std::optional<std::int64_t> CollectiveSpec::own_input(Rank rank) const {
    if (before(collective_) == Holder::own) return rank.index;
    return std::nullopt;
}

std::optional<std::int64_t> CollectiveSpec::own_output(Rank rank) const {
    if (after(collective_) == Holder::own) return rank.index;
    return std::nullopt;
}

int CollectiveSpec::summands(Rank rank) const {
    if (collective_ == Collective::scan) return rank.index + 1;
    return collective_ == Collective::exscan ? rank.index : ranks_;
}

bool CollectiveSpec::exchanges() const { return after(collective_) == Holder::pair; }

std::int64_t CollectiveSpec::count_blocks() const {
    const std::int64_t p = ranks_;
    if (before(collective_) == Holder::pair) return p * p;
    return own_input(root_) || own_output(root_) ? p : 1;
}

bool CollectiveSpec::starts_with(Rank rank, std::int64_t block) const {
    const Holder holder = before(collective_);
    if (holder == Holder::root) return rank == root_;
    return holder == Holder::all || rank == source_of(block);
}

bool CollectiveSpec::ends_with(Rank rank, std::int64_t block) const {
    const Holder holder = after(collective_);
    if (holder == Holder::root) return rank == root_;
    if (holder == Holder::all_but_first) return rank != Rank{0};
    if (const auto own = own_output(rank)) return block == *own;
    return holder == Holder::all || block % ranks_ == rank.index;
}

Rank CollectiveSpec::source_of(std::int64_t block) const {
    const Holder holder = before(collective_);
    if (holder == Holder::own) return {static_cast<int>(block)};
    return holder == Holder::pair ? Rank{static_cast<int>(block / ranks_)} : root_;
}

std::int64_t CollectiveSpec::place_in_input(Rank rank, std::int64_t block) const {
    if (own_input(rank)) return 0;
    return before(collective_) == Holder::pair ? block % ranks_ : block;
}

std::int64_t CollectiveSpec::place_in_output(Rank rank, std::int64_t block) const {
    if (own_output(rank)) return 0;
    return after(collective_) == Holder::pair ? block / ranks_ : block;
}

std::int64_t CollectiveSpec::block_in_input(Rank rank, std::int64_t place) const {
    if (const auto own = own_input(rank)) return *own;
    return before(collective_) == Holder::pair ? rank.index * ranks_ + place : place;
}

std::int64_t CollectiveSpec::block_in_output(Rank rank, std::int64_t place) const {
    if (const auto own = own_output(rank)) return *own;
    return after(collective_) == Holder::pair ? place * ranks_ + rank.index : place;
}

std::int64_t CollectiveSpec::input_blocks(Rank rank) const {
    if (is_token()) return 0;
    const Holder holder = before(collective_);
    if (holder == Holder::root) return rank == root_ ? blocks() : 0;
    if (own_input(rank)) return 1;
    return holder == Holder::pair ? ranks_ : blocks();
}

std::int64_t CollectiveSpec::output_blocks(Rank rank) const {
    if (is_token()) return 0;
    const Holder holder = after(collective_);
    if (holder == Holder::all_but_first) return rank == Rank{0} ? 0 : blocks();
    if (holder == Holder::root) return rank == root_ ? blocks() : 0;
    if (own_output(rank)) return 1;
    return holder == Holder::pair ? ranks_ : blocks();
}

}  // namespace tutti
