// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// Cuts the ranks into up to `count` dimensions of about the same size: each prime factor of P, the
// largest first, multiplies the dimension that is smallest so far.
std::vector<int> dimensions(int ranks, int count) {
    std::vector<int> primes;
    for (int prime = 2; ranks > 1; ++prime) {
        if (prime > ranks / prime) prime = ranks;
        for (; ranks % prime == 0; ranks /= prime) primes.push_back(prime);
    }
    std::vector<int> sizes(as_size(count), 1);
    for (const int prime : std::views::reverse(primes)) *std::ranges::min_element(sizes) *= prime;
    return sizes;
}

}  // namespace

// A ring reduce-scatter along each dimension of a grid, one dimension after the other, of the
// blocks that are left: the sum of all sizes minus 1 steps, and (P-1)/P of the message, both
// optimal on a torus. `radix` is the number of dimensions; with a prime P it is a ring (Jain,
// Sabharwal 2010: bucket algorithms).
Schedule bucket_reduce_scatter(int ranks, int radix) {
    struct Hop {
        int size, place, number;  // the ring has `size` ranks, which are `place` apart
    };
    std::vector<Hop> hops;
    int place = 1;
    for (const int size : dimensions(ranks, radix)) {
        for (int number = 1; number < size; ++number) hops.push_back({size, place, number});
        place *= size;
    }
    const int steps = int_size(hops);
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const auto [size, apart, number] = at(hops, now);
        const Ring ring{size};
        for (Rank r : all_ranks(ranks)) {
            const Rank own{digit_of(r.index, apart, size)};
            const Rank to{r.index + (ring.next(own).index - own.index) * apart};
            if (!step.concerns(r, to)) continue;
            // Earlier dimensions have left it the blocks of its own place there.
            const int first = r.index % apart + ring.behind(own, number).index * apart;
            for (int block = first; block < ranks; block += size * apart)
                step.reduce({.chunks = {block, 1}, .from = r, .to = to});
        }
    });
}

Schedule bucket_all_gather(int ranks, int radix) {
    return mirrored(bucket_reduce_scatter(ranks, radix), Action::copy);
}

Schedule bucket_all_reduce(int ranks, int radix) {
    return bucket_reduce_scatter(ranks, radix).then(bucket_all_gather(ranks, radix));
}

}  // namespace tutti
