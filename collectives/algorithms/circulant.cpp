// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// known[k] is the number of blocks (its own and those of the ranks ahead) that a rank has before
// step k; the last entry is P. The number is the same for all ranks, so to multiply it by m, a rank
// receives from m-1 others.
Schedule spreading_all_gather(int ranks, const std::vector<int>& known) {
    const Ring ring{ranks};
    const int steps = static_cast<int>(known.size()) - 1;
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const int have = at(known, now);
        const int goal = known[static_cast<std::size_t>(now) + 1];
        for (Rank r : all_ranks(ranks))
            for (int places = have; places < goal; places += have) {
                const Rank ahead = ring.ahead(r, places);
                for (const Chunks blocks : ring.arc(ahead, std::min(have, goal - places)))
                    step.copy({.chunks = blocks, .from = ahead, .to = r});
            }
    });
}

// Returns 1 .. P, in which each number is the next one divided by the radix, rounded up.
std::vector<int> shares(int ranks, int radix) {
    std::vector<int> numbers{ranks};
    while (numbers.back() > 1) numbers.push_back(divide_up(numbers.back(), radix));
    std::reverse(numbers.begin(), numbers.end());
    return numbers;
}

// Finds the block that a rank receives in each step of a broadcast (Traeff, arXiv 2407.18004).
// Ranks are counted from the root. The steps use the jumps in turn, the shortest first: rank r
// receives from rank r - jump. In each period of q steps, one for each of the q jumps, a rank
// receives one block of this period and q-1 of the previous one, and no block twice: the block that
// it got early is left out of the next period. What it sends, it has from the previous period or
// from earlier steps of this one.
class BlocksOfSteps {
public:
    BlocksOfSteps(int ranks, int blocks) : jumps_(shares(ranks, 2)), last_block_(blocks - 1) {
        period_ = int_size(jumps_) - 1;
        jumps_.push_back(2 * ranks);  // longer than all
        steps_ = ranks == 1 ? 0 : last_block_ + period_;
        if (ranks > 1) skipped_ = (period_ - steps_ % period_) % period_;
    }

    int steps() const { return steps_; }
    int jump(int step) const { return at(jumps_, (skipped_ + step) % period_); }
    // Numbers above the last block stand for the last block. A rank receives exactly one of them.
    std::optional<int> received(int rank, int step) const {
        const int all = skipped_ + step;
        const int block = at(received_in_period(rank), all % period_) + all / period_ * period_;
        if (block < skipped_) return std::nullopt;
        return std::min(block - skipped_, last_block_);
    }

private:
    struct Search {
        int rank;      // its distance from the root, plus P, so that no limit is negative
        int last_end;  // where the path of the last step ends
        std::vector<char> is_taken;  // whether a step has this block
        std::vector<int> blocks;     // one for each step
    };

    // A path of long and then shorter jumps leads to each rank; its last one is the number of the
    // rank's first block.
    int first_block(int rank) const {
        int jump = period_;
        for (int left = rank; left > 0; left -= at(jumps_, jump))
            while (at(jumps_, jump) > left) --jump;
        return jump;
    }

    // Continues a path from the root, which ends at `place`, with jumps from this one downwards
    // (depth first). A step takes a path whose end lies at least its jump before the rank, but not
    // as far as the next jump. The last jump of the path is the step's block.
    void extend(Search& search, int place, int jump) const {
        const auto limit_of = [&](int later) {
            return search.rank - at(jumps_, int_size(search.blocks) + later);
        };
        for (; jump >= 0; --jump) {
            const int end = place + at(jumps_, jump);
            if (at(search.is_taken, jump) != 0 || end > limit_of(0) || end >= search.last_end)
                continue;
            if (end <= limit_of(1)) extend(search, end, jump);
            if (place > limit_of(1)) return;
            search.last_end = end;
            search.blocks.push_back(jump);
            at(search.is_taken, jump) = 1;
        }
    }

    // Returns a block for each step of a period; negative numbers are those of the period before.
    std::vector<int> received_in_period(int rank) const {
        const int ranks = at(jumps_, period_), first = first_block(rank);
        Search search{ranks + rank, 2 * ranks, std::vector<char>(jumps_.size()), {}};
        at(search.is_taken, first) = 1;
        extend(search, 0, period_);
        for (int& block : search.blocks) block = block == period_ ? first : block - period_;
        return search.blocks;
    }

    std::vector<int> jumps_;
    int last_block_, period_ = 0, steps_ = 0;
    int skipped_ =
        0;  // steps of the first period that are left out, so that the last one is complete
};

}  // namespace

// Known blocks multiply by the radix until all P are known: ceil(log P) steps and (P-1)/P of the
// message for any P, both optimal with radix 2 (Bruck et al. 1997).
Schedule bruck_all_gather(int ranks, int radix) {
    std::vector<int> known{1};
    while (known.back() < ranks) known.push_back(std::min(radix * known.back(), ranks));
    return spreading_all_gather(ranks, known);
}

// Like Bruck's, but the numbers of known blocks are P divided by the radix (rounded up) repeatedly,
// which makes the mirror image a reduce-scatter with equally even steps (Traeff, arXiv 2410.14234,
// for radix 2).
Schedule circulant_all_gather(int ranks, int radix) {
    return spreading_all_gather(ranks, shares(ranks, radix));
}

Schedule circulant_reduce_scatter(int ranks, int radix) {
    return mirrored(circulant_all_gather(ranks, radix), Action::reduce);
}

// 2 ceil(log P) steps and exactly 2(P-1)/P of the message for any P: no fold if P is not a power of
// two. Best for medium and large messages on odd rank counts.
Schedule circulant_all_reduce(int ranks, int radix) {
    return circulant_reduce_scatter(ranks, radix).then(circulant_all_gather(ranks, radix));
}

// Sends the message in blocks, in ceil(log P) - 1 + blocks steps: the minimum for any P if a rank
// sends and receives one block per step. A chain takes P - 2 + blocks.
Schedule circulant_broadcast(int ranks, Rank root, int blocks) {
    const Ring ring{ranks};
    const BlocksOfSteps blocks_of(ranks, blocks);
    return Schedule({ranks, /*chunks=*/blocks, blocks_of.steps()}, [=](int now, Step& step) {
        for (int relative = 1; relative < ranks; ++relative) {
            const Rank to = ring.ahead(root, relative), from = ring.behind(to, blocks_of.jump(now));
            if (!step.concerns(from, to)) continue;
            if (const auto block = blocks_of.received(relative, now))
                step.copy({.chunks = {*block, 1}, .from = from, .to = to});
        }
    });
}

Schedule circulant_reduce(int ranks, Rank root, int blocks) {
    return mirrored(circulant_broadcast(ranks, root, blocks), Action::reduce);
}

// A block for the rank d places ahead jumps v radix^k places for every digit v of d: ceil(log P)
// steps with radix-1 messages each. With radix 2 about (log2 P)/2 vectors: best for tiny blocks.
// With a larger radix, blocks are forwarded less often; with radix P every rank sends directly to
// every other (Bruck et al. 1997).
Schedule bruck_all_to_all(int ranks, int radix) {
    const Ring ring{ranks};
    const Extent extent{ranks, /*chunks=*/ranks * ranks, rounds_to_reach(ranks, radix)};
    return Schedule(extent, [=](int round, Step& step) {
        const int place = power(radix, round);
        for (Rank r : all_ranks(ranks))
            for (int jump = place; jump < std::min(radix * place, ranks); jump += place) {
                const Rank to = ring.ahead(r, jump);
                if (!step.concerns(r, to)) continue;
                for (int distance = jump; distance < ranks; ++distance) {
                    if (digit_of(distance, place, radix) * place != jump) continue;
                    const Rank sender = ring.behind(r, distance % place);
                    const Rank receiver = ring.ahead(sender, distance);
                    step.copy({.chunks = {sender.index * ranks + receiver.index, 1},
                               .from = r,
                               .to = to});
                }
            }
    });
}

}  // namespace tutti
