// SPDX-License-Identifier: Apache-2.0
// Reduction over lanes. See vector_lanes.hpp for the reason of the unnamed namespace.
#pragma once
#include "kernels/sets.hpp"
#include "kernels/vector_pass.hpp"

namespace tutti {
namespace {

struct Sum {
    template <class Lane>
    static Lane of(Lane so_far, Lane next) {
        return so_far + next;
    }
};
struct Product {
    template <class Lane>
    static Lane of(Lane so_far, Lane next) {
        return so_far * next;
    }
};

template <class Lane>
constexpr bool is_of_floats = [] {
    using Number = __typeof__(Lane{}[0] + Lane{}[0]);
    return __is_same(Number, float) || __is_same(Number, double);
}();

/// If neither is less, either the numbers are equal, or one is a NaN, and the bits of both give a
/// NaN; and two zeros give -0.
template <class Lane>
Lane bits_of_both(Lane a, Lane b) {
    using Words = Vector<std::uint32_t, sizeof(Lane)>;
    return reinterpret_cast<Lane>(reinterpret_cast<Words>(a) | reinterpret_cast<Words>(b));
}
struct Min {
    template <class Lane>
    static Lane of(Lane a, Lane b) {
        const Lane less = a < b ? a : b, other = b < a ? b : a;
        if constexpr (is_of_floats<Lane>) return bits_of_both(less, other);
        return less;
    }
};
struct Max {
    template <class Lane>
    static Lane of(Lane a, Lane b) {
        const Lane more = a < b ? b : a, other = b < a ? a : b;
        if constexpr (is_of_floats<Lane>) return -bits_of_both(-more, -other);
        return more;
    }
};

template <class Combine, class Lane>
Lane combined(Lane so_far, Lane next) {
    return Combine::of(so_far, next);
}
template <class Combine, class Lane>
Pair<Lane> combined(Pair<Lane> so_far, Pair<Lane> next) {
    return {Combine::of(so_far.even, next.even), Combine::of(so_far.odd, next.odd)};
}

template <class Combine, class Sources>
struct Reduction {
    Sources sources;

    template <class Lanes, std::size_t vectors>
    [[gnu::always_inline]] Block<Lanes, vectors> block(std::size_t offset) const {
        typename Lanes::Wide total[vectors];
        const std::byte* first = sources.starts[0] + offset;
        for (std::size_t v = 0; v < vectors; ++v) total[v] = load<Lanes>(first + v * Lanes::bytes);
        for (std::size_t s = 1; s < sources.how_many(); ++s) {
            const std::byte* next = sources.starts[s] + offset;
            for (std::size_t v = 0; v < vectors; ++v)
                total[v] = combined<Combine>(total[v], load<Lanes>(next + v * Lanes::bytes));
        }
        Block<Lanes, vectors> result;
        for (std::size_t v = 0; v < vectors; ++v) result.at[v] = Lanes::narrow(total[v]);
        return result;
    }
};

/// Combines two sources to one out, as most calls do. Looking up a kernel would take longer than a
/// small call.
template <class Lanes, class Combine>
[[gnu::always_inline]] inline void reduce_two(std::byte* const* to, const std::byte* const* from,
                                              std::size_t bytes) noexcept {
    using Sources = Few<const std::byte, 2>;
    any_pass<Lanes, long_block<Lanes>>(Few<std::byte, 1>(to), {0, bytes},
                                       Reduction<Combine, Sources>{Sources(from)});
}

/// Combines `sources` sources to `outs` outs, in at least one vector.
template <class Lanes, class Combine, std::size_t sources, std::size_t outs>
void reduce_few(std::byte* const* to, const std::byte* const* from, std::size_t bytes) noexcept {
    using Sources = Few<const std::byte, sources>;
    constexpr std::size_t vectors = sources == 2 ? long_block<Lanes> : short_block<Lanes>;
    pass<Lanes, vectors>(Few<std::byte, outs>(to), {0, bytes},
                         Reduction<Combine, Sources>{Sources(from)});
}

using FewKernel = void (*)(std::byte* const*, const std::byte* const*, std::size_t) noexcept;

/// Returns kernels for more than two sources to one out, or for equal numbers of sources and outs;
/// nullptr for rare numbers.
template <class Lanes, class Combine>
FewKernel few_kernel(std::size_t sources, std::size_t outs) {
    constexpr FewKernel to_one[] = {
        reduce_few<Lanes, Combine, 3, 1>, reduce_few<Lanes, Combine, 4, 1>,
        reduce_few<Lanes, Combine, 5, 1>, reduce_few<Lanes, Combine, 6, 1>,
        reduce_few<Lanes, Combine, 7, 1>, reduce_few<Lanes, Combine, 8, 1>};
    if (outs == 1) return sources >= 3 && sources <= 8 ? to_one[sources - 3] : nullptr;
    if (outs != sources) return nullptr;
    switch (outs) {
        case 2:
            return reduce_few<Lanes, Combine, 2, 2>;
        case 4:
            return reduce_few<Lanes, Combine, 4, 4>;
        case 8:
            return reduce_few<Lanes, Combine, 8, 8>;
        default:
            return nullptr;
    }
}

/// Copies one source to every out that is not the source itself, piece by piece: the first out
/// loads a piece from memory, the others find it in L1.
template <class CopyOne>
[[gnu::always_inline]] inline void copy(std::byte* const* outs, std::size_t how_many_outs,
                                        const std::byte* source, std::size_t bytes,
                                        CopyOne copy_one) {
    const std::size_t piece = how_many_outs == 1 ? bytes : 8192;
    for (std::size_t done = 0; done < bytes; done += piece)
        for (std::size_t o = 0; o < how_many_outs; ++o)
            if (outs[o] != source)
                copy_one(outs[o] + done, source + done,
                         bytes - done < piece ? bytes - done : piece);
}

inline void copy_cached(std::byte* out, const std::byte* source, std::size_t bytes) noexcept {
    __builtin_memcpy(out, source, bytes);
}

template <std::size_t vector>
void copy_streaming(std::byte* out, const std::byte* source, std::size_t bytes) noexcept {
    using Lanes = PlainLanes<std::uint8_t, vector>;
    using Source = Few<const std::byte, 1>;
    const Few<std::byte, 1> target(&out);
    streaming_pass<Lanes>(target, bytes_before_lines<Lanes>(target, bytes), bytes,
                          Reduction<Sum, Source>{Source(&source)});
}

/// The ReduceKernel of one type and operation, with ordinary stores.
template <class Lanes, class Combine>
void reduce(std::byte* const* outs, std::size_t how_many_outs, const std::byte* const* sources,
            std::size_t how_many, std::size_t count) noexcept {
    const std::size_t bytes = count * Lanes::element_bytes;
    if (how_many == 2 && how_many_outs == 1) {
        // From L2, Zen 5 loads two streams faster by 32 bytes than by 64 (float sum: 234 against
        // 227 GB/s; memcpy 241); from L1, half as fast.
        constexpr std::size_t more_than_l1 = 32 << 10;
        if constexpr (Lanes::bytes == 64 && sizeof(typename Lanes::Wide) == 64)
            if (bytes >= more_than_l1)
                return reduce_two<typename Lanes::Narrower, Combine>(outs, sources, bytes);
        return reduce_two<Lanes, Combine>(outs, sources, bytes);
    }
    if (how_many == 1) return copy(outs, how_many_outs, sources[0], bytes, copy_cached);
    const FewKernel few = few_kernel<Lanes, Combine>(how_many, how_many_outs);
    if (few != nullptr && bytes >= Lanes::bytes) return few(outs, sources, bytes);
    any_pass<Lanes, short_block<Lanes>>(
        Many<std::byte>{outs, how_many_outs}, {0, bytes},
        Reduction<Combine, Many<const std::byte>>{{sources, how_many}});
}

/// With streaming stores, if the outs are aligned alike. Memory is so slow that constant numbers of
/// sources and outs matter little; two to one gain 5 %.
template <class Lanes, class Combine>
void reduce_streaming(std::byte* const* outs, std::size_t how_many_outs,
                      const std::byte* const* sources, std::size_t how_many,
                      std::size_t count) noexcept {
    const std::size_t bytes = count * Lanes::element_bytes;
    if (how_many == 1)
        return copy(outs, how_many_outs, sources[0], bytes, copy_streaming<Lanes::bytes>);
    const Many<std::byte> targets{outs, how_many_outs};
    const std::size_t first_line = bytes_before_lines<Lanes>(targets, bytes);
    if (first_line == bytes)
        return reduce<Lanes, Combine>(outs, how_many_outs, sources, how_many, count);
    if (how_many == 2 && how_many_outs == 1) {
        using Two = Few<const std::byte, 2>;
        return streaming_pass<Lanes>(Few<std::byte, 1>(outs), first_line, bytes,
                                     Reduction<Combine, Two>{Two(sources)});
    }
    streaming_pass<Lanes>(targets, first_line, bytes,
                          Reduction<Combine, Many<const std::byte>>{{sources, how_many}});
}

template <class Lanes, class Combine>
ReduceKernel stored(Stores stores) {
    return stores == Stores::streaming ? reduce_streaming<Lanes, Combine> : reduce<Lanes, Combine>;
}

/// Integers are added in unsigned lanes, which wrap, and compared in their own.
template <class Adding, class Comparing = Adding>
ReduceKernel reduce_kernel(Op op, Stores stores) {
    const ReduceKernel kernels[] = {// in the order of Op; avg is divided afterwards
                                    stored<Adding, Sum>(stores), stored<Adding, Product>(stores),
                                    stored<Comparing, Min>(stores), stored<Comparing, Max>(stores),
                                    stored<Adding, Sum>(stores)};
    return kernels[static_cast<std::size_t>(op)];
}

/// Returns kernels of registers `bytes` wide; none for half, whose conversion differs between sets.
template <std::size_t bytes>
ReduceKernel vector_reduce(DataType type, Op op, Stores stores) {
    using Bytes = PlainLanes<std::uint8_t, bytes>;
    using Shorts = PlainLanes<std::uint16_t, bytes>;
    using Words = PlainLanes<std::uint32_t, bytes>;
    using Longs = PlainLanes<std::uint64_t, bytes>;
    switch (type) {
        case DataType::int8:
            return reduce_kernel<Bytes, PlainLanes<std::int8_t, bytes>>(op, stores);
        case DataType::int16:
            return reduce_kernel<Shorts, PlainLanes<std::int16_t, bytes>>(op, stores);
        case DataType::int32:
            return reduce_kernel<Words, PlainLanes<std::int32_t, bytes>>(op, stores);
        case DataType::int64:
            return reduce_kernel<Longs, PlainLanes<std::int64_t, bytes>>(op, stores);
        case DataType::uint8:
            return reduce_kernel<Bytes>(op, stores);
        case DataType::uint16:
            return reduce_kernel<Shorts>(op, stores);
        case DataType::uint32:
            return reduce_kernel<Words>(op, stores);
        case DataType::uint64:
            return reduce_kernel<Longs>(op, stores);
        case DataType::fp8_e4m3:
        case DataType::fp8_e5m2:
        case DataType::half:
            return nullptr;
        case DataType::bfloat16:
            return reduce_kernel<BFloat16Lanes<bytes>>(op, stores);
        case DataType::float32:
            return reduce_kernel<PlainLanes<float, bytes>>(op, stores);
        case DataType::float64:
            return reduce_kernel<PlainLanes<double, bytes>>(op, stores);
    }
    return nullptr;
}

// Division, for the float types: integers have no vector division.
template <class Number>
struct Quotient {
    const std::byte* data;
    Number divisor;

    template <class Lanes, std::size_t vectors>
    [[gnu::always_inline]] Block<Lanes, vectors> block(std::size_t offset) const {
        Block<Lanes, vectors> result;
        for (std::size_t v = 0; v < vectors; ++v)
            result.at[v] = Lanes::narrow(load<Lanes>(data + offset + v * Lanes::bytes) / divisor);
        return result;
    }
};

/// The DivideKernel of one type.
template <class Lanes>
void divide(std::byte* data, std::size_t count, std::int64_t divisor) noexcept {
    using Number = typename Lanes::Number;
    any_pass<Lanes, short_block<Lanes>>(Few<std::byte, 1>(&data), {0, count * Lanes::element_bytes},
                                        Quotient<Number>{data, static_cast<Number>(divisor)});
}

/// Returns kernels of registers `bytes` wide; none for half, whose conversion differs between sets.
template <std::size_t bytes>
DivideKernel vector_divide(DataType type) {
    switch (type) {
        case DataType::bfloat16:
            return divide<BFloat16Lanes<bytes>>;
        case DataType::float32:
            return divide<PlainLanes<float, bytes>>;
        case DataType::float64:
            return divide<PlainLanes<double, bytes>>;
        default:
            return nullptr;
    }
}

}  // namespace
}  // namespace tutti
