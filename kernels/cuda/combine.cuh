// SPDX-License-Identifier: Apache-2.0
// Reduce and copy as device code, for any kernel to call:
//
//     combine<Element, op>(operands, thread, threads)
//     divide<Element>(data, count, divisor, thread, threads)     what turns a sum into an average
//     copy(outs, how_many_outs, source, bytes, thread, threads)
//
// Each is one pass, shared by `threads` threads that call it with the same operands and are
// numbered from 0 on by `thread`: a block (threadIdx.x, blockDim.x), or all blocks of a rank.
// Neighbouring threads should be neighbours in a warp. There is no barrier inside, before or after:
// who reads what the pass stored waits as for any other store. Compile as target tutti_device_code
// says (--expt-relaxed-constexpr, no contraction to FMA).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.hpp"
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/partition.hpp"

namespace tutti::device {

// The arithmetic of one operation on the elements in 8 bytes, as in kernels/scalar.cpp.

template <class Number>
__device__ Number quotient(Number total, int divisor) {
    if constexpr (std::is_integral_v<Number>)
        return total / static_cast<Number>(divisor);
    else
        return rounded_quotient(total, static_cast<Number>(divisor));
}

/// Like Total, for one source that is divided; it was rounded before.
template <class Element>
class Quotient {
public:
    static constexpr int element_bytes = sizeof(Element);
    static constexpr int packets_at_once = 4;

    __device__ explicit Quotient(std::uint64_t bits) : bits_(bits) {}
    __device__ void add(std::uint64_t) {}
    __device__ std::uint64_t result(int divisor) const {
        using Lane = Lanes<Element>;
        typename Lane::Number numbers[Lane::count];
        Lane::widen(bits_, numbers);
#pragma unroll
        for (int i = 0; i < Lane::count; ++i) numbers[i] = quotient(numbers[i], divisor);
        return Lane::template narrow<Storing::rounded>(numbers);
    }

private:
    std::uint64_t bits_;
};

/// The running result of 8 bytes of elements: starts with the first source, adds the others.
template <class Element, Op op>
class Total {
public:
    static constexpr int element_bytes = sizeof(Element);

    __device__ explicit Total(std::uint64_t first) { Lane::widen(first, numbers_); }

    __device__ void add(std::uint64_t next) {
        Number others[Lane::count];
        Lane::widen(next, others);
#pragma unroll
        for (int i = 0; i < Lane::count; ++i) numbers_[i] = combined(numbers_[i], others[i]);
    }

    __device__ std::uint64_t result(int divisor) const {
        constexpr Storing storing =
            op == Op::min || op == Op::max ? Storing::exact : Storing::rounded;
        const std::uint64_t stored = Lane::template narrow<storing>(numbers_);
        if constexpr (op != Op::avg) return stored;
        return Quotient<Element>{stored}.result(divisor);  // like the host, in two passes
    }

private:
    using Lane = Lanes<Element>;
    using Number = typename Lane::Number;

    // See kernels/scalar.cpp.
    __device__ static Number neither_less(Number a, Number b) {
        if constexpr (std::is_integral_v<Number>) {
            return a;
        } else {
            const auto sign = op == Op::max ? bits_of(Number{-0.0}) : bits_of(Number{0});
            const auto both = ((bits_of(a) ^ sign) | (bits_of(b) ^ sign)) ^ sign;
            if constexpr (sizeof(Number) == sizeof(float))
                return float_of_bits(both);
            else
                return double_of_bits(both);
        }
    }

    __device__ static Number combined(Number so_far, Number next) {
        if constexpr (op == Op::min) {
            if (so_far < next) return so_far;
            return next < so_far ? next : neither_less(so_far, next);
        } else if constexpr (op == Op::max) {
            if (so_far < next) return next;
            return next < so_far ? so_far : neither_less(so_far, next);
        } else if constexpr (std::is_integral_v<Number>) {
            using Wrapping = std::make_unsigned_t<Number>;
            const auto a = static_cast<Wrapping>(so_far), b = static_cast<Wrapping>(next);
            return static_cast<Number>(op == Op::prod ? a * b : a + b);
        } else {
            return op == Op::prod ? so_far * next : so_far + next;
        }
    }

    Number numbers_[Lane::count];
};

/// Like Total, for one source that is copied as raw bytes.
class Untouched {
public:
    static constexpr int element_bytes = 1;
    static constexpr int packets_at_once = 8;

    __device__ explicit Untouched(std::uint64_t bits) : bits_(bits) {}
    __device__ void add(std::uint64_t) {}
    __device__ std::uint64_t result(int) const { return bits_; }

private:
    std::uint64_t bits_;
};

/// outs[o][i] = ((sources[0][i] op sources[1][i]) op ...), like ReduceKernel in kernels/sets.hpp,
/// with the same bits except those of a NaN: half, bfloat16 and fp8 are combined in float and
/// rounded once, for any number of sources. Op::avg divides the rounded sum by `divisor`, like
/// DivideKernel. A single source is copied bit for bit. Any alignment; an out may be exactly one of
/// the sources. Both tables of pointers lie where the device can read them (global, shared or
/// constant memory; a table in registers would be spilled).
struct Operands {
    const std::byte* const* sources;
    int how_many_sources;  // 1 or more
    std::byte* const* outs;
    int how_many_outs;   // 1 or more
    std::int64_t count;  // elements
    int divisor = 1;     // for Op::avg: 1 or more
    static constexpr bool are_several = true;

    __device__ const std::byte* source(int s) const { return sources[s]; }
    __device__ std::byte* out(int o) const { return outs[o]; }
};

/// One array that is its own result.
struct InPlace {
    std::byte* data;
    std::int64_t count;
    int divisor;
    static constexpr bool are_several = false;
    static constexpr int how_many_sources = 1;
    static constexpr int how_many_outs = 1;

    __device__ const std::byte* source(int) const { return data; }
    __device__ std::byte* out(int) const { return data; }
};

/// One source for all outs.
struct Spread {
    const std::byte* from;
    std::byte* const* outs;
    int how_many_outs;
    std::int64_t count;
    int divisor;
    static constexpr bool are_several = false;
    static constexpr int how_many_sources = 1;

    __device__ const std::byte* source(int) const { return from; }
    __device__ std::byte* out(int o) const { return outs[o]; }
};

template <class Operands>
__device__ Partition partition_of(const Operands& operands, int element_bytes) {
    const std::uint64_t first = address_of(operands.source(0));
    std::uint64_t differences = 0;
    for (int s = 1; s < operands.how_many_sources; ++s)
        differences |= first ^ address_of(operands.source(s));
    for (int o = 0; o < operands.how_many_outs; ++o)
        differences |= first ^ address_of(operands.out(o));
    return partition(first, differences, element_bytes, operands.count);
}

/// Combines `unroll` packets of up to `batch` sources, `threads` packets apart: all loads are
/// issued before the first result is computed. Ignores packets from number `packets` on; sources
/// beyond a batch of 8 follow one by one.
template <class Total, Access access, int batch, int unroll, class Operands>
__device__ void combine_packets(const Operands& operands, std::int64_t start, std::int64_t packets,
                                std::int64_t i, std::int64_t threads) {
    const int sources = operands.how_many_sources;
    const auto has = [&](int s) { return s == 0 || batch == 2 || s < sources; };
    const auto inside = [&](int u) { return u == 0 || i + u * threads < packets; };
    const auto at = [&](int u) { return start + (i + u * threads) * packet_bytes; };
    Packet loaded[unroll][batch];
#pragma unroll
    for (int s = 0; s < batch; ++s) {
        const std::byte* from = operands.source(has(s) ? s : 0);
#pragma unroll
        for (int u = 0; u < unroll; ++u)
            loaded[u][s] = load_packet<access>(from + at(u), has(s) && inside(u));
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
        if (!inside(u)) return;
        Packet result;
#pragma unroll
        // One after the other, to use fewer registers.
        for (int half = 0; half < Packet::units; ++half) {
            Total total{loaded[u][0].unit[half]};
#pragma unroll
            for (int s = 1; s < batch; ++s)
                if (has(s)) total.add(loaded[u][s].unit[half]);
            if constexpr (batch == 8)
                for (int s = batch; s < sources; ++s)
                    total.add(load_piece<8>(operands.source(s) + at(u) + 8 * half));
            result.unit[half] = total.result(operands.divisor);
        }
#pragma unroll 1
        for (int o = 0; o < operands.how_many_outs; ++o)
            store_packet<access>(operands.out(o) + at(u), result);
    }
}

/// Combines 16 bytes at a time if the operands' addresses do not allow a single load or store.
template <class Total, class Operands>
__device__ void combine_skewed(const Operands& operands, std::int64_t packets, std::int64_t thread,
                               std::int64_t threads) {
    for (std::int64_t i = thread; i < packets; i += threads) {
        const std::int64_t at = i * packet_bytes;
        const Packet first = gather_packet(operands.source(0) + at);
        Total low{first.unit[0]}, high{first.unit[1]};
#pragma unroll 1
        for (int s = 1; s < operands.how_many_sources; ++s) {
            const Packet next = gather_packet(operands.source(s) + at);
            low.add(next.unit[0]);
            high.add(next.unit[1]);
        }
        const Packet result{low.result(operands.divisor), high.result(operands.divisor)};
#pragma unroll 1
        for (int o = 0; o < operands.how_many_outs; ++o)
            scatter_packet(operands.out(o) + at, result);
    }
}

/// Combines the elements of head and tail, one per thread.
template <class Total, class Operands>
__device__ void combine_ends(const Operands& operands, const Partition& cut, std::int64_t thread,
                             std::int64_t threads) {
    constexpr int size = Total::element_bytes;
    for (std::int64_t end = thread; end < cut.head + cut.tail; end += threads) {
        const std::int64_t at = size * element_of_end(cut, end, size);
        Total total{load_element<size>(operands.source(0) + at)};
#pragma unroll 1
        for (int s = 1; s < operands.how_many_sources; ++s)
            total.add(load_element<size>(operands.source(s) + at));
        const std::uint64_t result = total.result(operands.divisor);
#pragma unroll 1
        for (int o = 0; o < operands.how_many_outs; ++o)
            store_element<size>(operands.out(o) + at, result);
    }
}

/// With fewer sources it handles more packets at once: about eight loads are in flight in each
/// thread.
template <class Total, Access access, class Operands>
__device__ void combine_pass(const Operands& operands, std::int64_t thread, std::int64_t threads) {
    const Partition cut = partition_of(operands, Total::element_bytes);
    const std::int64_t start = cut.head * Total::element_bytes;
    const auto aligned = [&]<int batch, int unroll>() {
#pragma unroll 1
        for (std::int64_t i = thread; i < cut.packets; i += unroll * threads)
            combine_packets<Total, access, batch, unroll>(operands, start, cut.packets, i, threads);
    };
    const int sources = operands.how_many_sources;
    if (!cut.aligned)
        combine_skewed<Total>(operands, cut.packets, thread, threads);
    else if constexpr (!Operands::are_several)
        aligned.template operator()<1, Total::packets_at_once>();
    else if (sources == 2)
        aligned.template operator()<2, 4>();
    else if (sources <= 4)
        aligned.template operator()<4, 2>();
    else
        aligned.template operator()<8, 1>();
    combine_ends<Total>(operands, cut, thread, threads);
}

/// combine() for two sources or more.
template <class Element, Op op, Access access = Access::shared>
__device__ void combine_several(const Operands& operands, std::int64_t thread,
                                std::int64_t threads) {
    combine_pass<Total<Element, op>, access>(operands, thread, threads);
}

template <Access access = Access::shared>
__device__ void copy(std::byte* const* outs, int how_many_outs, const std::byte* source,
                     std::int64_t bytes, std::int64_t thread, std::int64_t threads) {
    combine_pass<Untouched, access>(Spread{source, outs, how_many_outs, bytes, 1}, thread, threads);
}

template <class Element, Op op, Access access = Access::shared>
__device__ void combine(const Operands& operands, std::int64_t thread, std::int64_t threads) {
    if (operands.how_many_sources > 1)
        combine_several<Element, op, access>(operands, thread, threads);
    else if constexpr (op == Op::avg)
        combine_pass<Quotient<Element>, access>(
            Spread{operands.sources[0], operands.outs, operands.how_many_outs, operands.count,
                   operands.divisor},
            thread, threads);
    else
        copy<access>(operands.outs, operands.how_many_outs, operands.sources[0],
                     operands.count * static_cast<std::int64_t>(sizeof(Element)), thread, threads);
}

template <class Element, Access access = Access::shared>
__device__ void divide(std::byte* data, std::int64_t count, int divisor, std::int64_t thread,
                       std::int64_t threads) {
    combine_pass<Quotient<Element>, access>(InPlace{data, count, divisor}, thread, threads);
}

}  // namespace tutti::device
