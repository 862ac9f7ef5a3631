// SPDX-License-Identifier: Apache-2.0
// What one operation does to the elements in 8 bytes: the arithmetic of reduce_scalar.cpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/types.hpp"
#include "kernels/cuda/lanes.cuh"

namespace tutti::device {

template <class Number>
__device__ Number quotient(Number total, int divisor) {
    if constexpr (std::is_integral_v<Number>)
        return total / static_cast<Number>(divisor);
    else
        return rounded_quotient(total, static_cast<Number>(divisor));
}

/// As Total, of one source that is divided: it was rounded before.
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

/// The running result of 8 bytes of elements: starts as the first source's, adds the others'.
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
        return Quotient<Element>{stored}.result(divisor);  // as the host does, in two passes
    }

private:
    using Lane = Lanes<Element>;
    using Number = typename Lane::Number;

    __device__ static Number combined(Number so_far, Number next) {
        if constexpr (op == Op::min) {
            return next < so_far ? next : so_far;
        } else if constexpr (op == Op::max) {
            return so_far < next ? next : so_far;
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

/// As Total, of one source that is not looked into.
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

}  // namespace tutti::device
