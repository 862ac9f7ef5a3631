// SPDX-License-Identifier: Apache-2.0
// Casts between float and narrower floats as device code: as in combine.cuh, one pass shared by
// `threads` threads.
#pragma once
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/packet.cuh"

namespace tutti::device {

enum class Direction { narrow, widen };

/// 8 bytes of narrow elements, and the corresponding floats.
template <class Narrow>
struct CastUnit {
    static constexpr int count = Lanes<Narrow>::count;
    static constexpr int packets_of_floats = count / 4;

    __device__ static void narrow(const Packet (&floats)[packets_of_floats], std::uint64_t& unit) {
        float numbers[count];
#pragma unroll
        for (int i = 0; i < count; ++i) numbers[i] = lane(floats[i / 4], i % 4);
        unit = Lanes<Narrow>::template narrow<Storing::rounded>(numbers);
    }
    __device__ static void widen(std::uint64_t unit, Packet (&floats)[packets_of_floats]) {
        float numbers[count];
        Lanes<Narrow>::widen(unit, numbers);
#pragma unroll
        for (int i = 0; i < count; i += 2)
            floats[i / 4].unit[i / 2 % 2] =
                bits_of(numbers[i]) | static_cast<std::uint64_t>(bits_of(numbers[i + 1])) << 32;
    }

private:
    __device__ static float lane(const Packet& floats, int i) {
        return float_of_bits(static_cast<std::uint32_t>(floats.unit[i / 2] >> (32 * (i % 2))));
    }
};

/// Casts one packet of narrow elements, at `narrow`, and their floats; all loads come first.
template <class Narrow, Direction direction, Access access>
__device__ void cast_packet(std::byte* narrow, std::byte* floats) {
    using Unit = CastUnit<Narrow>;
    Packet wide[Packet::units][Unit::packets_of_floats];
    Packet packed;
    const auto address = [&](int u, int p) {
        return floats + packet_bytes * (u * Unit::packets_of_floats + p);
    };
    if constexpr (direction == Direction::narrow) {
#pragma unroll
        for (int u = 0; u < Packet::units; ++u)
#pragma unroll
            for (int p = 0; p < Unit::packets_of_floats; ++p)
                wide[u][p] = load_packet<access>(address(u, p));
#pragma unroll
        for (int u = 0; u < Packet::units; ++u) Unit::narrow(wide[u], packed.unit[u]);
        store_packet<access>(narrow, packed);
    } else {
        packed = load_packet<access>(narrow);
#pragma unroll
        for (int u = 0; u < Packet::units; ++u) {
            Unit::widen(packed.unit[u], wide[u]);
#pragma unroll
            for (int p = 0; p < Unit::packets_of_floats; ++p)
                store_packet<access>(address(u, p), wide[u][p]);
        }
    }
}

template <class Narrow, Direction direction>
__device__ void cast_element(std::byte* narrow, std::byte* floats) {
    using Unit = CastUnit<Narrow>;
    constexpr int size = sizeof(Narrow);
    Packet wide[Unit::packets_of_floats] = {};
    if constexpr (direction == Direction::narrow) {
        std::uint64_t unit;
        wide[0].unit[0] = load_element<4>(floats);
        Unit::narrow(wide, unit);
        store_element<size>(narrow, unit);
    } else {
        Unit::widen(load_element<size>(narrow), wide);
        store_element<4>(floats, wide[0].unit[0]);
    }
}

/// Casts floats[i] to narrow[i] or the other way, at any addresses; element by element if no whole
/// number of elements leads to a multiple of 16 in both.
template <class Narrow, Direction direction, Access access>
__device__ void cast(std::byte* narrow, std::byte* floats, std::int64_t count, std::int64_t thread,
                     std::int64_t threads) {
    constexpr std::int64_t size = sizeof(Narrow), float_size = sizeof(float);
    constexpr std::int64_t per_packet = packet_bytes / size;
    const Partition cut = cast_partition(address_of(narrow), address_of(floats), size, count);
    for (std::int64_t i = thread; i < cut.packets; i += threads) {
        const std::int64_t element = cut.head + i * per_packet;
        cast_packet<Narrow, direction, access>(narrow + element * size,
                                               floats + element * float_size);
    }
    for (std::int64_t end = thread; end < cut.head + cut.tail; end += threads) {
        const std::int64_t element = element_of_end(cut, end, size);
        cast_element<Narrow, direction>(narrow + element * size, floats + element * float_size);
    }
}

}  // namespace tutti::device
