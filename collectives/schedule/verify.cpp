// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/error.hpp"

namespace tutti {
namespace {

// A partial sum, identified by number; equal numbers are equal expressions. 0 is "nothing".
using Sum = std::uint32_t;
constexpr Sum nothing = 0;

// All distinct partial sums. A sum is one rank's share, or the sum of two sums (unordered: a + b
// equals b + a). Each sum stores the set of its shares.
class PartialSums {
public:
    explicit PartialSums(int ranks)
        : ranks_(static_cast<std::size_t>(ranks)),
          words_((ranks_ + 63) / 64),
          sets_((ranks_ + 1) * words_, 0) {
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            sets_[(rank + 1) * words_ + rank / 64] = std::uint64_t{1} << (rank % 64);
    }

    Sum share_of(Rank rank) const { return static_cast<Sum>(rank.index) + 1; }

    // Returns a + b, which have no share in common except for tokens.
    Sum add(Sum a, Sum b) {
        const std::uint64_t pair =
            static_cast<std::uint64_t>(std::min(a, b)) << 32 | std::max(a, b);
        const auto sum = static_cast<Sum>(sets_.size() / words_);
        const auto [known, is_new] = sum_of_pair_.try_emplace(pair, sum);
        if (is_new)
            for (std::size_t word = 0; word < words_; ++word)
                sets_.push_back(sets_[a * words_ + word] | sets_[b * words_ + word]);
        return known->second;
    }

    // Returns a rank whose share is in both.
    std::optional<Rank> common(Sum a, Sum b) const {
        return lowest([](std::uint64_t x, std::uint64_t y) { return x & y; }, a, b);
    }
    // Returns a rank whose share is not in the sum.
    std::optional<Rank> missing_from(Sum sum) const {
        return lowest([](std::uint64_t x, std::uint64_t) { return ~x; }, sum, sum);
    }
    // Returns some rank whose share is in the sum.
    std::optional<Rank> any_in(Sum sum) const { return common(sum, sum); }
    // Returns the last rank whose share is in the sum.
    Rank last_in(Sum sum) const {
        std::size_t word = words_ - 1;
        while (set_of(sum)[word] == 0) --word;
        return {static_cast<int>(word * 64 + 63) - std::countl_zero(set_of(sum)[word])};
    }

private:
    const std::uint64_t* set_of(Sum sum) const { return &sets_[sum * words_]; }
    std::optional<Rank> lowest(std::uint64_t (*combine)(std::uint64_t, std::uint64_t), Sum a,
                               Sum b) const {
        for (std::size_t word = 0; word < words_; ++word) {
            const std::uint64_t bits = combine(set_of(a)[word], set_of(b)[word]);
            if (bits == 0) continue;
            const std::size_t rank = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            if (rank < ranks_) return Rank{static_cast<int>(rank)};
        }
        return std::nullopt;
    }

    std::size_t ranks_;
    std::size_t words_;                // 64-bit words per set
    std::vector<std::uint64_t> sets_;  // the set of sum s at s * words_
    std::unordered_map<std::uint64_t, Sum> sum_of_pair_;
};

// Follows the shares through the schedule. Stores the changes of a step separately until it ends,
// because every transfer reads what its sender held before.
class Follower {
public:
    Follower(const Schedule& schedule, const CollectiveSpec& start, const CollectiveSpec& end)
        : schedule_(schedule),
          start_(start),
          spec_(end),
          chunks_(schedule.chunks()),
          sums_(schedule.ranks()),
          held_(static_cast<std::size_t>(schedule.ranks()) * static_cast<std::size_t>(chunks_)),
          change_of_(held_.size(), no_change),
          read_in_(held_.size(), -1) {}

    Proof run() {
        if (chunks_ % spec_.blocks() != 0) {
            fault(fmt::format("{} chunks cannot hold {} blocks", chunks_, spec_.blocks()));
            return proof_;
        }
        hand_out_shares();
        try {
            for (int step = 0; step < schedule_.steps() && !proof_.fault; ++step) follow(step);
        } catch (const Error& outside) {  // a transfer names a rank or chunk that does not exist
            fault(outside.what());
        }
        if (!proof_.fault) check_postcondition();
        return proof_;
    }

private:
    static constexpr std::uint32_t no_change = 0xffffffff;
    struct Change {
        std::size_t cell;
        Sum sum;
    };

    std::size_t cell(Rank rank, int chunk) const {
        return static_cast<std::size_t>(rank.index) * static_cast<std::size_t>(chunks_) +
               static_cast<std::size_t>(chunk);
    }
    std::int64_t block_of(int chunk) const { return chunk / (chunks_ / spec_.blocks()); }

    void fault(std::string text) {
        if (!proof_.fault) proof_.fault = std::move(text);
    }

    void hand_out_shares() {
        for (Rank rank : all_ranks(schedule_.ranks()))
            for (int chunk = 0; chunk < chunks_; ++chunk)
                if (start_.starts_with(rank, block_of(chunk)))
                    held_[cell(rank, chunk)] = sums_.share_of(rank);
    }

    void follow(int step) {
        schedule_.visit(step, [&](const Transfer& transfer) {
            if (proof_.fault) return;
            const Chunks run = transfer.chunks;
            for (int chunk = run.first; chunk < run.first + run.count && !proof_.fault; ++chunk)
                deliver(step, transfer, chunk);
        });
        for (const Change& change : changes_) {
            if (read_in_[change.cell] == step) ++proof_.overwritten_while_read;
            held_[change.cell] = change.sum;
            change_of_[change.cell] = no_change;
        }
        changes_.clear();
    }

    void deliver(int step, const Transfer& transfer, int chunk) {
        const std::size_t source = cell(transfer.from, chunk);
        const std::size_t target = cell(transfer.to, chunk);
        const Sum arriving = held_[source];
        if (transfer.from != transfer.to) read_in_[source] = step;
        if (arriving == nothing)
            return fault(
                fmt::format("step {}: rank {} sends chunk {} to rank {}, but holds nothing "
                            "of it yet",
                            step, transfer.from.index, chunk, transfer.to.index));
        if (spec_.starts_complete(transfer.to, block_of(chunk)))
            return fault(
                fmt::format("step {}: rank {} receives chunk {} from rank {}, but has it from the "
                            "start",
                            step, transfer.to.index, chunk, transfer.from.index));
        const bool changed_before = change_of_[target] != no_change;
        if (transfer.action == Action::copy) {
            if (changed_before)
                return fault(
                    fmt::format("step {}: rank {}'s chunk {} is overwritten by rank {} after "
                                "another transfer of the same step wrote it",
                                step, transfer.to.index, chunk, transfer.from.index));
            return change(target, arriving);
        }
        const Sum own = changed_before ? changes_[change_of_[target]].sum : held_[target];
        if (own == nothing)
            return fault(fmt::format("step {}: rank {} adds rank {}'s chunk {} to nothing", step,
                                     transfer.to.index, transfer.from.index, chunk));
        const auto twice = sums_.common(own, arriving);
        if (twice && !spec_.is_token())
            return fault(
                fmt::format("step {}: rank {} adds rank {}'s share of chunk {} a second time "
                            "(it arrives from rank {})",
                            step, transfer.to.index, twice->index, chunk, transfer.from.index));
        change(target, sums_.add(own, arriving));
    }

    void change(std::size_t cell, Sum sum) {
        if (change_of_[cell] == no_change) {
            change_of_[cell] = static_cast<std::uint32_t>(changes_.size());
            changes_.push_back({cell, sum});
        } else {
            changes_[change_of_[cell]].sum = sum;
        }
    }

    void check_postcondition() {
        for (int chunk = 0; chunk < chunks_ && !proof_.fault; ++chunk) {
            Sum first = nothing;
            for (Rank rank : all_ranks(schedule_.ranks())) {
                if (!spec_.ends_with(rank, block_of(chunk))) continue;
                const Sum sum = held_[cell(rank, chunk)];
                check_end(rank, chunk, sum);
                if (first == nothing) first = sum;
                if (sum != first && has_equal_results()) proof_.same_order_everywhere = false;
            }
        }
    }

    // Whether all ranks that have a result have the same one. A token has no value.
    bool has_equal_results() const { return !spec_.is_token() && !is_prefix(spec_.collective()); }

    void check_end(Rank rank, int chunk, Sum sum) {
        if (sum == nothing)
            return fault(
                fmt::format("at the end rank {} has nothing of chunk {}", rank.index, chunk));
        if (spec_.reduces()) {
            const int wanted = spec_.summands(rank);
            const auto lost = sums_.missing_from(sum);
            if (lost && lost->index < wanted)
                return fault(fmt::format("at the end rank {} lacks rank {}'s share of chunk {}",
                                         rank.index, lost->index, chunk));
            if (const Rank last = sums_.last_in(sum); last.index >= wanted)
                fault(
                    fmt::format("at the end rank {} has rank {}'s share of chunk {}, which is "
                                "not part of its result",
                                rank.index, last.index, chunk));
            return;
        }
        const Rank source = spec_.source_of(block_of(chunk));
        if (sum != sums_.share_of(source))
            fault(fmt::format("at the end rank {} has rank {}'s data in chunk {}, not rank {}'s",
                              rank.index, sums_.any_in(sum)->index, chunk, source.index));
    }

    const Schedule& schedule_;
    const CollectiveSpec& start_;
    const CollectiveSpec& spec_;
    int chunks_;
    PartialSums sums_;
    std::vector<Sum> held_;                 // by rank, then chunk
    std::vector<Change> changes_;           // in the current step
    std::vector<std::uint32_t> change_of_;  // cell -> index in changes_
    std::vector<int> read_in_;              // cell -> last step in which a peer read it
    Proof proof_;
};

}  // namespace

Proof prove(const Schedule& schedule, const CollectiveSpec& spec) {
    return prove(schedule, spec, spec);
}

Proof prove(const Schedule& schedule, const CollectiveSpec& start, const CollectiveSpec& end) {
    return Follower(schedule, start, end).run();
}

std::optional<std::string> find_fault(const Schedule& schedule, const CollectiveSpec& spec) {
    return prove(schedule, spec).fault;
}

}  // namespace tutti
