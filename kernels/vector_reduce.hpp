// SPDX-License-Identifier: Apache-2.0
// Reduction over lanes. See vector_lanes.hpp for why all is in an unnamed namespace.
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
struct Min {
    template <class Lane>
    static Lane of(Lane so_far, Lane next) {
        return next < so_far ? next : so_far;
    }
};
struct Max {
    template <class Lane>
    static Lane of(Lane so_far, Lane next) {
        return so_far < next ? next : so_far;
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

/// So few sources that the compiler knows how many, and keeps their addresses in registers.
template <std::size_t known>
struct FewSources {
    const std::byte* starts[known];
    explicit FewSources(const std::byte* const* sources) {
        __builtin_memcpy(starts, sources, sizeof starts);
    }
    static constexpr std::size_t how_many() { return known; }
};

/// Any number; their addresses are read again for every block.
struct ManySources {
    const std::byte* const* starts;
    std::size_t number;
    std::size_t how_many() const { return number; }
};

template <class Combine, class Sources>
struct Reduction {
    Sources sources;

    template <class Lanes, std::size_t vectors>
    [[gnu::always_inline]] Block<Lanes, vectors> block(std::size_t offset) const {
        Block<Lanes, vectors> total;
        const std::byte* first = sources.starts[0] + offset;
        for (std::size_t v = 0; v < vectors; ++v)
            total.at[v] = load<Lanes>(first + v * Lanes::bytes);
        for (std::size_t s = 1; s < sources.how_many(); ++s) {
            const std::byte* next = sources.starts[s] + offset;
            for (std::size_t v = 0; v < vectors; ++v)
                total.at[v] = combined<Combine>(total.at[v], load<Lanes>(next + v * Lanes::bytes));
        }
        return total;
    }
};

template <class Lanes, class Combine, std::size_t known>
void reduce_few(std::byte* out, const std::byte* const* sources, std::size_t bytes) noexcept {
    pass<Lanes>(out, bytes, Reduction<Combine, FewSources<known>>{FewSources<known>(sources)});
}

/// The ReduceKernel of one type and operation.
template <class Lanes, class Combine>
void reduce(std::byte* out, const std::byte* const* sources, std::size_t how_many,
            std::size_t count) noexcept {
    const std::size_t bytes = count * Lanes::element_bytes;
    if (how_many == 1) {
        if (out != sources[0] && count > 0) __builtin_memcpy(out, sources[0], bytes);
        return;
    }
    constexpr decltype(&reduce_few<Lanes, Combine, 2>) few[] = {
        reduce_few<Lanes, Combine, 2>, reduce_few<Lanes, Combine, 3>, reduce_few<Lanes, Combine, 4>,
        reduce_few<Lanes, Combine, 5>, reduce_few<Lanes, Combine, 6>, reduce_few<Lanes, Combine, 7>,
        reduce_few<Lanes, Combine, 8>};
    if (how_many <= 8 && bytes >= Lanes::bytes) return few[how_many - 2](out, sources, bytes);
    short_pass<Lanes>(out, bytes, Reduction<Combine, ManySources>{{sources, how_many}});
}

/// Integers give unsigned lanes to add in, which wrap, and their own to compare in.
template <class Adding, class Comparing = Adding>
ReduceKernel reduce_kernel(Op op) {
    switch (op) {
        case Op::sum:
        case Op::avg:
            return reduce<Adding, Sum>;
        case Op::prod:
            return reduce<Adding, Product>;
        case Op::min:
            return reduce<Comparing, Min>;
        case Op::max:
            return reduce<Comparing, Max>;
    }
    return nullptr;
}

/// Kernels of registers `bytes` wide; none for half, whose conversion differs from set to set.
template <std::size_t bytes>
ReduceKernel vector_reduce(DataType type, Op op) {
    using Bytes = PlainLanes<std::uint8_t, bytes>;
    using Shorts = PlainLanes<std::uint16_t, bytes>;
    using Words = PlainLanes<std::uint32_t, bytes>;
    using Longs = PlainLanes<std::uint64_t, bytes>;
    switch (type) {
        case DataType::int8:
            return reduce_kernel<Bytes, PlainLanes<std::int8_t, bytes>>(op);
        case DataType::int16:
            return reduce_kernel<Shorts, PlainLanes<std::int16_t, bytes>>(op);
        case DataType::int32:
            return reduce_kernel<Words, PlainLanes<std::int32_t, bytes>>(op);
        case DataType::int64:
            return reduce_kernel<Longs, PlainLanes<std::int64_t, bytes>>(op);
        case DataType::uint8:
            return reduce_kernel<Bytes>(op);
        case DataType::uint16:
            return reduce_kernel<Shorts>(op);
        case DataType::uint32:
            return reduce_kernel<Words>(op);
        case DataType::uint64:
            return reduce_kernel<Longs>(op);
        case DataType::half:
            return nullptr;
        case DataType::bfloat16:
            return reduce_kernel<BFloat16Lanes<bytes>>(op);
        case DataType::float32:
            return reduce_kernel<PlainLanes<float, bytes>>(op);
        case DataType::float64:
            return reduce_kernel<PlainLanes<double, bytes>>(op);
    }
    return nullptr;
}

}  // namespace
}  // namespace tutti
