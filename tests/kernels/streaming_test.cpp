// SPDX-License-Identifier: Apache-2.0
// Streaming stores are weakly ordered: without a store fence after them, a rank that sees the
// counter published afterwards may not see the data. No run shows that reliably, so this test
// records the order of the instructions instead of executing them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#ifdef __SSE2__
#include <immintrin.h>

namespace {
std::string order;  // s: a streaming store, f: a fence

template <class Vector>
void note_stream(void* to, Vector vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
    order += 's';
}
void note_fence() { order += 'f'; }
}  // namespace

#define _mm_stream_si128(to, vector) note_stream(to, vector)
#define _mm_sfence() note_fence()
#include "kernels/vector_reduce.hpp"

namespace tutti {
namespace {

using Lanes = PlainLanes<float, 16>;

std::string order_of(std::size_t bytes, std::size_t sources, std::size_t shift) {
    alignas(64) std::byte data[5][512] = {};
    std::vector<const std::byte*> from;
    for (std::size_t i = 0; i < sources; ++i) from.push_back(data[i + 1]);
    std::byte* const out = data[0] + shift;
    order.clear();
    reduce_streaming<Lanes, Sum>(&out, 1, from.data(), sources, bytes / 4);
    return order;
}

TEST(StreamingStores, AreFencedAfterTheLastOne) {
    for (const std::size_t sources : {1, 2, 3, 4})
        for (const std::size_t bytes : {128, 200, 256, 448})
            for (const std::size_t shift : {0, 4, 60}) {
                const std::string seen = order_of(bytes, sources, shift);
                const std::size_t lines = (bytes - (64 - shift) % 64) / 64;  // whole ones
                EXPECT_EQ(std::ranges::count(seen, 's'),
                          static_cast<long>(lines * 64 / Lanes::bytes));
                ASSERT_FALSE(seen.empty());
                EXPECT_EQ(seen.back(), 'f') << seen;
            }
}

}  // namespace
}  // namespace tutti
#endif
