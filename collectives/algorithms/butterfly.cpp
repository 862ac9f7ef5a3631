// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

int log2_of(int power) { return std::countr_zero(static_cast<unsigned>(power)); }

// Lets the first ranks run `core`; each rank beyond them sends its vector to a partner first, and
// receives the result from it at the end. This takes two more steps, and one more vector for the
// partners.
Schedule folded(int ranks, const Schedule& core) {
    const int inside = core.ranks();
    const int outside = ranks - inside;
    if (outside == 0) return core;
    const Schedule fold({ranks, 1, 1}, [=](int, Step& step) {
        for (int other = 0; other < outside; ++other)
            step.reduce(
                {.chunks = whole_message, .from = {inside + other}, .to = {other % inside}});
    });
    Group members;
    for (Rank r : all_ranks(inside)) members.members.push_back(r);
    return fold.then(on_each(ranks, 1, {members}, [=](int) { return core; }))
        .then(mirrored(fold, Action::copy));
}

// Returns the factors of a product, as few as there are with none larger than `most`, and of these
// the ones with the smallest sum; nothing if a prime factor is larger.
std::optional<std::vector<int>> factors_within(int product, int most) {
    if (product == 1) return std::vector<int>{};
    std::optional<std::vector<int>> best;
    const auto cost = [](const std::vector<int>& factors) {
        return std::pair(factors.size(), std::accumulate(factors.begin(), factors.end(), 0));
    };
    for (int factor = std::min(most, product); factor >= 2; --factor) {
        if (product % factor != 0) continue;
        auto others = factors_within(product / factor, factor);
        if (!others) continue;
        others->push_back(factor);
        if (!best || cost(*others) < cost(*best)) best = std::move(others);
    }
    return best;
}

// Numbers the ranks with a digit for each factor. Every rank combines with the ranks whose numbers
// differ from its own in one digit, digit after digit. All ranks add in the order of the digit, so
// that they get the same bits; the first two may begin with their own share, which saves a copy of
// it, because a + b equals b + a.
Schedule recursive_multiplying(int ranks, const std::vector<int>& factors) {
    return Schedule({ranks, /*chunks=*/1, int_size(factors)}, [=](int round, Step& step) {
        const int radix = at(factors, round);
        const int place =
            std::accumulate(factors.begin(), factors.begin() + round, 1, std::multiplies{});
        for (Rank r : all_ranks(ranks)) {
            const int own = digit_of(r.index, place, radix);
            for (int digit = 0; digit < radix; ++digit) {
                const Rank from{r.index + (digit - own) * place};
                if (own <= 1 && digit == own) continue;
                if (own > 1 && digit == 0)
                    step.copy({.chunks = whole_message, .from = from, .to = r});
                else
                    step.reduce({.chunks = whole_message, .from = from, .to = r});
            }
        }
    });
}

}  // namespace

// Exchanges and adds whole vectors across ever wider pairs: log2 P steps (floor + 2 if P is not a
// power of two), one vector per step. These are the fewest possible steps with one message at a
// time: best for small messages (Thakur, Rabenseifner, Gropp 2005: recursive doubling). With groups
// of up to `radix` ranks it takes a step for each factor of P, with factor - 1 vectors
// (Ruefenacht, Bull, Booth 2017: recursive multiplying); only if P has a prime factor above the
// radix, ranks beyond the largest power of the radix are folded in.
Schedule butterfly_all_reduce(int ranks, int radix) {
    if (const auto factors = factors_within(ranks, radix))
        return recursive_multiplying(ranks, *factors);
    const int inside = power_within(ranks, radix);
    return folded(ranks, recursive_multiplying(inside, *factors_within(inside, radix)));
}

// Pairs, then pairs of pairs, exchange all blocks that they know, so the known blocks double: log2
// P steps and (P-1)/P of the message, both optimal. Ranks beyond the largest power of two first
// send their block to a partner and receive everything at the end.
Schedule butterfly_all_gather(int ranks) {
    const int inside = power_within(ranks, 2);
    const int outside = ranks - inside;
    const int fold = outside > 0 ? 1 : 0;
    const int bits = log2_of(inside);
    return Schedule({ranks, /*chunks=*/ranks, bits + 2 * fold}, [=](int now, Step& step) {
        if (fold == 1 && now == 0) {
            for (int partner = 0; partner < outside; ++partner)
                step.copy(
                    {.chunks = {inside + partner, 1}, .from = {inside + partner}, .to = {partner}});
        } else if (now < bits + fold) {
            const int width = 1 << (now - fold);  // ranks of a group that know the same blocks
            for (Rank r : all_ranks(inside)) {
                const Rank partner{r.index ^ width};
                const int first = r.index & ~(width - 1);
                const int folded_in = std::clamp(outside - first, 0, width);
                step.copy({.chunks = {first, width}, .from = r, .to = partner});
                step.copy({.chunks = {inside + first, folded_in}, .from = r, .to = partner});
            }
        } else {
            for (int partner = 0; partner < outside; ++partner) {  // all but its own block
                const Rank to{inside + partner};
                step.copy({.chunks = {0, to.index}, .from = {partner}, .to = to});
                step.copy(
                    {.chunks = {to.index + 1, ranks - to.index - 1}, .from = {partner}, .to = to});
            }
        }
    });
}

// The all-gather backwards (recursive halving): exchanges and adds halves of the vector across ever
// narrower pairs until each rank has only its own block.
Schedule butterfly_reduce_scatter(int ranks) {
    return mirrored(butterfly_all_gather(ranks), Action::reduce);
}

// Recursive halving, then recursive doubling: 2 log2 P steps and 2(P-1)/P of the message, the
// minimum (Rabenseifner 2004); with a fold if P is not a power of two. Best for medium and large
// messages.
Schedule halving_doubling_all_reduce(int ranks) {
    const int inside = power_within(ranks, 2);
    return folded(ranks, butterfly_reduce_scatter(inside).then(butterfly_all_gather(inside)));
}

// Halving-doubling that stops early: after some halvings, the ranks that have the same part of the
// vector all-reduce it as a whole. With `radix` pieces (rounded down to a power of two),
// t = log2 of it: log2 P + t steps and 2(1 - 1/2^t) + (log2 P - t)/2^t vectors. Best for sizes
// between those of butterfly and halving-doubling, which are the ends of this family.
Schedule partial_halving_all_reduce(int ranks, int radix) {
    const int inside = power_within(ranks, 2);
    const int pieces = std::min(power_within(radix, 2), inside);
    const int apart = inside / pieces;
    std::vector<Group> cutting(as_size(apart)), whole(as_size(pieces));
    for (Rank r : all_ranks(inside)) {
        at(cutting, r.index % apart).members.push_back(r);
        at(whole, r.index / apart).members.push_back(r);
    }
    for (int piece = 0; piece < pieces; ++piece) at(whole, piece).pieces = {{{piece, 1}}};
    const auto sum = [](int size) { return butterfly_all_reduce(size, 2); };
    return folded(ranks, on_each(inside, pieces, cutting, butterfly_reduce_scatter)
                             .then(on_each(inside, pieces, whole, sum))
                             .then(on_each(inside, pieces, cutting, butterfly_all_gather)));
}

// Halves the range of ranks repeatedly; the rank that holds a range's blocks sends the other half
// to the opposite rank. ceil(log2 P) steps, (P-1)/P of the message from the root; unlike in the
// tree, blocks are always contiguous in memory, for any root.
Schedule butterfly_scatter(int ranks, Rank root) {
    struct Halving {
        // Adds the transfer of range [low, high), whose blocks `holder` has, at `depth` below it.
        static void add(int low, int high, int holder, int depth, Step& step) {
            if (high - low < 2) return;
            const int middle = low + (high - low + 1) / 2;
            const bool keeps_low = holder < middle;
            const int opposite =
                keeps_low ? std::min(middle + holder - low, high - 1) : low + holder - middle;
            const Chunks other_half =
                keeps_low ? Chunks{middle, high - middle} : Chunks{low, middle - low};
            if (depth == 0)
                return step.copy({.chunks = other_half, .from = {holder}, .to = {opposite}});
            add(low, middle, keeps_low ? holder : opposite, depth - 1, step);
            add(middle, high, keeps_low ? opposite : holder, depth - 1, step);
        }
    };
    const int rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
    return Schedule({ranks, /*chunks=*/ranks, rounds}, [=](int round, Step& step) {
        Halving::add(0, ranks, root.index, round, step);
    });
}

Schedule butterfly_gather(int ranks, Rank root) {
    return mirrored(butterfly_scatter(ranks, root), Action::copy);
}

// Scatter, then all-gather: about 2(P-1)/P of the message in 2 log2 P steps, while a tree sends
// log2 P messages from the root (van de Geijn). Best for medium and large messages.
Schedule butterfly_broadcast(int ranks, Rank root) {
    return without_returns(butterfly_scatter(ranks, root).then(butterfly_all_gather(ranks)),
                           {Collective::broadcast, ranks, root});
}

// The mirror image: reduce-scatter, then gather (Rabenseifner's reduce).
Schedule butterfly_reduce(int ranks, Rank root) {
    return butterfly_reduce_scatter(ranks).then(butterfly_gather(ranks, root));
}

// A hypercube: across each bit the partners swap the P/2 blocks whose receivers are on the other
// side. log2 P steps and (log2 P)/2 vectors. P is a power of two. Best for tiny blocks.
Schedule butterfly_all_to_all(int ranks) {
    const Extent extent{ranks, /*chunks=*/ranks * ranks, log2_of(ranks)};
    return Schedule(extent, [=](int bit, Step& step) {
        const int width = 1 << bit;
        for (Rank r : all_ranks(ranks)) {
            const Rank partner{r.index ^ width};
            if (!step.concerns(r, partner)) continue;
            // Rank r now holds the blocks whose sender agrees with r in the bits still to come and
            // whose receiver agrees with r in the bits already done.
            const int first_sender = r.index & ~(width - 1);
            for (int sender = first_sender; sender < first_sender + width; ++sender)
                for (int receiver = partner.index & (2 * width - 1); receiver < ranks;
                     receiver += 2 * width)
                    step.copy({.chunks = {sender * ranks + receiver, 1}, .from = r, .to = partner});
        }
    });
}

}  // namespace tutti
