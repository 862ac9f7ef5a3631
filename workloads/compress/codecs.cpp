// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/codecs.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "kernels/instruction_set.hpp"

namespace tutti {

#if defined(__x86_64__)
extern const CodecSet avx2_codecs;
#endif

const CodecSet& fastest_codecs() {
    static const CodecSet& fastest = *fastest_of<const CodecSet*>({
#if defined(__x86_64__)
        {InstructionSet::avx2, &avx2_codecs},
#endif
            {InstructionSet::baseline, &portable_codecs},
    });
    return fastest;
}

namespace {

std::size_t blocks_of(std::size_t count) { return divide_up(count, int8_block); }

// Calls visit(block, first element, elements) for each block.
template <class Visit>
void for_each_block(std::size_t count, Visit&& visit) {
    for (std::size_t block = 0, first = 0; first < count; ++block, first += int8_block)
        visit(block, first, std::min(int8_block, count - first));
}

}  // namespace

void encode(std::span<const float> from, std::span<BFloat16> to) {
    fastest_codecs().encode_bf16(from.data(), from.size(), to.data());
}
void encode(std::span<const float> from, std::span<Half> to) {
    fastest_codecs().encode_half(from.data(), from.size(), to.data());
}
void decode(std::span<const BFloat16> from, std::span<float> to) {
    fastest_codecs().decode_bf16(from.data(), from.size(), to.data());
}
void decode(std::span<const Half> from, std::span<float> to) {
    fastest_codecs().decode_half(from.data(), from.size(), to.data());
}

std::size_t int8_bytes(std::size_t count) {
    constexpr std::size_t line = 64;
    return round_up(blocks_of(count) * sizeof(float) + count, line);
}

void encode_int8(std::span<const float> from, std::span<std::byte> to) {
    auto* scales = reinterpret_cast<float*>(to.data());
    auto* bytes = reinterpret_cast<std::int8_t*>(scales + blocks_of(from.size()));
    for_each_block(from.size(), [&](std::size_t block, std::size_t first, std::size_t count) {
        scales[block] = fastest_codecs().encode_int8(&from[first], count, bytes + first);
    });
}

void decode_int8(std::span<const std::byte> from, std::span<float> to) {
    const auto* scales = reinterpret_cast<const float*>(from.data());
    const auto* bytes = reinterpret_cast<const std::int8_t*>(scales + blocks_of(to.size()));
    for_each_block(to.size(), [&](std::size_t block, std::size_t first, std::size_t count) {
        fastest_codecs().decode_int8(scales[block], bytes + first, count, &to[first]);
    });
}

void add_int8(std::span<const std::byte> from, std::span<float> to) {
    const auto* scales = reinterpret_cast<const float*>(from.data());
    const auto* bytes = reinterpret_cast<const std::int8_t*>(scales + blocks_of(to.size()));
    for_each_block(to.size(), [&](std::size_t block, std::size_t first, std::size_t count) {
        fastest_codecs().add_int8(scales[block], bytes + first, count, &to[first]);
    });
}

}  // namespace tutti
