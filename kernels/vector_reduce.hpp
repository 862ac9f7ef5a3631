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

template <class Lanes, class Combine, std::size_t known, class Outs>
void reduce_few(Outs outs, const std::byte* const* sources, std::size_t bytes) noexcept {
    using Sources = Few<const std::byte, known>;
    pass<Lanes>(outs, bytes, Reduction<Combine, Sources>{Sources(sources)});
}

/// To the kind of outs that was chosen.
template <class Lanes, class Combine, class Outs>
void reduce_to(Outs outs, const std::byte* const* sources, std::size_t how_many,
               std::size_t bytes) noexcept {
    constexpr decltype(&reduce_few<Lanes, Combine, 2, Outs>) few[] = {
        reduce_few<Lanes, Combine, 2, Outs>, reduce_few<Lanes, Combine, 3, Outs>,
        reduce_few<Lanes, Combine, 4, Outs>, reduce_few<Lanes, Combine, 5, Outs>,
        reduce_few<Lanes, Combine, 6, Outs>, reduce_few<Lanes, Combine, 7, Outs>,
        reduce_few<Lanes, Combine, 8, Outs>};
    if (how_many <= 8 && bytes >= Lanes::bytes) return few[how_many - 2](outs, sources, bytes);
    using Sources = Many<const std::byte>;
    short_pass<Lanes>(outs, bytes, Reduction<Combine, Sources>{{sources, how_many}});
}

/// To every out that is not the source itself.
inline void copy(std::byte* const* outs, std::size_t how_many_outs, const std::byte* source,
                 std::size_t bytes) noexcept {
    for (std::size_t o = 0; o < how_many_outs; ++o)
        if (outs[o] != source && bytes > 0) __builtin_memcpy(outs[o], source, bytes);
}

/// The cached ReduceKernel of one type and operation.
template <class Lanes, class Combine>
void reduce(std::byte* const* outs, std::size_t how_many_outs, const std::byte* const* sources,
            std::size_t how_many, std::size_t count) noexcept {
    const std::size_t bytes = count * Lanes::element_bytes;
    if (how_many == 1) return copy(outs, how_many_outs, sources[0], bytes);
    if (how_many_outs == 1)
        reduce_to<Lanes, Combine>(Few<std::byte, 1>(outs), sources, how_many, bytes);
    else
        reduce_to<Lanes, Combine>(Many<std::byte>{outs, how_many_outs}, sources, how_many, bytes);
}

template <class Lanes, class Combine>
ReduceKernel stored(Stores stores) {
    return stores == Stores::streaming ? reduce<Lanes, Combine> : reduce<Lanes, Combine>;
}

/// Integers give unsigned lanes to add in, which wrap, and their own to compare in.
template <class Adding, class Comparing = Adding>
ReduceKernel reduce_kernel(Op op, Stores stores) {
    switch (op) {
        case Op::sum:
        case Op::avg:
            return stored<Adding, Sum>(stores);
        case Op::prod:
            return stored<Adding, Product>(stores);
        case Op::min:
            return stored<Comparing, Min>(stores);
        case Op::max:
            return stored<Comparing, Max>(stores);
    }
    return nullptr;
}

/// Kernels of registers `bytes` wide; none for half, whose conversion differs from set to set.
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

}  // namespace
}  // namespace tutti
