// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <ostream>
#include <vector>

#include "workloads/check/check_data.hpp"
#include "workloads/check/check_number.hpp"

namespace tutti {

inline void PrintTo(const CheckCase& check, std::ostream* out) {
    *out << name_of(check.collective) << ' ' << name_of(check.type) << ' ' << name_of(check.op)
         << ", " << check.ranks << " ranks, root " << check.root << ", count " << check.count
         << (check.lengths == nullptr ? "" : " at most");
}

namespace check_reference {

using check_data::WideOf;

using Memory = std::vector<std::byte>;

inline constexpr int rank_counts[] = {1, 2, 3, 5, 8, 16, 33, 64};

inline std::size_t bytes_of(const CheckCase& check, std::int64_t count) {
    return static_cast<std::size_t>(count) * size_of(check.type);
}

inline Memory input_of(const CheckCase& check, Rank rank) {
    Memory input(bytes_of(check, input_count(check, rank)));
    fill_input(check, rank, input);
    return input;
}

template <class T>
std::vector<T> elements_of(const Memory& memory) {
    std::vector<T> elements(memory.size() / sizeof(T));
    std::memcpy(elements.data(), memory.data(), memory.size());
    return elements;
}

/// `visit(check)` for each pair of type and operation, or type alone where data is only moved.
template <class Visit>
void for_each_case(Collective collective, std::int64_t count, Visit visit) {
    for (int ranks : rank_counts)
        for (DataType type : all_data_types())
            for (Op op : all_ops()) {
                if (!reduces(collective) && op != Op::sum) continue;
                visit(CheckCase{.collective = collective,
                                .type = type,
                                .op = op,
                                .ranks = ranks,
                                .root = ranks / 2,
                                .count = count,
                                .seed = 42});
            }
}

// The collectives, as naively as can be: rounded to the type after each step.

template <class T>
T combine(Op op, T a, T b) {
    using Wide = std::conditional_t<std::integral<T>, std::uint64_t, WideOf<T>>;
    const auto wide_a = static_cast<Wide>(a);
    const auto wide_b = static_cast<Wide>(b);
    const auto compare = [](T value) {
        if constexpr (std::integral<T>)
            return value;
        else
            return static_cast<WideOf<T>>(value);
    };
    switch (op) {
        case Op::sum:
        case Op::avg:
            return static_cast<T>(wide_a + wide_b);
        case Op::prod:
            return static_cast<T>(wide_a * wide_b);
        case Op::min:
            return compare(a) < compare(b) ? a : b;
        case Op::max:
            return compare(a) > compare(b) ? a : b;
    }
    return a;
}

template <class T>
T finish(const CheckCase& check, T total) {
    if (check.op != Op::avg) return total;
    if constexpr (std::unsigned_integral<T>)
        return static_cast<T>(total / static_cast<std::uint64_t>(check.ranks));
    else if constexpr (std::integral<T>)
        return static_cast<T>(std::int64_t{total} / check.ranks);
    else
        return T(static_cast<WideOf<T>>(total) / static_cast<WideOf<T>>(check.ranks));
}

using Terms = std::vector<int>;  // ranks whose inputs are combined, in this order
enum class Bracketing { chain, tree };

template <class T>
std::vector<T> combined(const CheckCase& check, const Terms& terms, Bracketing bracketing) {
    std::vector<std::vector<T>> parts;
    for (int rank : terms) parts.push_back(elements_of<T>(input_of(check, Rank{rank})));
    const auto add = [&](std::size_t into, std::size_t from) {
        for (std::size_t i = 0; i < parts[into].size(); ++i)
            parts[into][i] = combine(check.op, parts[into][i], parts[from][i]);
    };
    if (bracketing == Bracketing::chain)
        for (std::size_t part = 1; part < parts.size(); ++part) add(0, part);
    else
        for (std::size_t apart = 1; apart < parts.size(); apart *= 2)
            for (std::size_t part = 0; part + apart < parts.size(); part += 2 * apart)
                add(part, part + apart);
    for (T& element : parts[0]) element = finish(check, element);
    return parts[0];
}

inline Memory combine_inputs(const CheckCase& check, const Terms& terms,
                             Bracketing bracketing = Bracketing::chain) {
    return with_type(check.type, [&]<class T>() {
        const std::vector<T> total = combined<T>(check, terms, bracketing);
        Memory memory(total.size() * sizeof(T));
        std::memcpy(memory.data(), total.data(), memory.size());
        return memory;
    });
}

inline Terms ranks_before(int end) {
    Terms terms(static_cast<std::size_t>(end));
    std::iota(terms.begin(), terms.end(), 0);
    return terms;
}

inline Terms every_rank(const CheckCase& check) { return ranks_before(check.ranks); }

/// Block `index` of the input of `source`, or of the result of a reduction.
inline Memory block(const CheckCase& check, const Memory& message, int source, int index) {
    const auto size_of_block = [&](int i) {
        if (check.lengths == nullptr) return bytes_of(check, check.count);
        const bool is_own_block =
            check.collective == Collective::all_gather || check.collective == Collective::gather;
        const int row = check.collective == Collective::all_to_all ? source * check.ranks : 0;
        return bytes_of(check, check.lengths->of(is_own_block ? source : row + i));
    };
    std::size_t begin = 0;
    for (int i = 0; i < index; ++i) begin += size_of_block(i);
    const auto from = message.begin() + static_cast<std::ptrdiff_t>(begin);
    return {from, from + static_cast<std::ptrdiff_t>(size_of_block(index))};
}

inline Memory blocks_of_every_rank(const CheckCase& check, int index) {
    Memory result;
    for (int source : every_rank(check)) {
        const Memory part = block(check, input_of(check, Rank{source}), source, index);
        result.insert(result.end(), part.begin(), part.end());
    }
    return result;
}

inline Memory right_result(const CheckCase& check, Rank rank) {
    const Rank root{check.root};
    switch (check.collective) {
        case Collective::all_reduce:
            return combine_inputs(check, every_rank(check));
        case Collective::reduce:
            return rank == root ? combine_inputs(check, every_rank(check)) : Memory{};
        case Collective::reduce_scatter:
            return block(check, combine_inputs(check, every_rank(check)), 0, rank.index);
        case Collective::all_gather:
            return blocks_of_every_rank(check, 0);
        case Collective::gather:
            return rank == root ? blocks_of_every_rank(check, 0) : Memory{};
        case Collective::all_to_all:
            return blocks_of_every_rank(check, rank.index);
        case Collective::broadcast:
            return input_of(check, root);
        case Collective::scatter:
            return block(check, input_of(check, root), check.root, rank.index);
        case Collective::barrier:
            return {};
        case Collective::scan:
            return combine_inputs(check, ranks_before(rank.index + 1));
        case Collective::exscan:
            return rank.index == 0 ? Memory{} : combine_inputs(check, ranks_before(rank.index));
    }
    return {};
}

}  // namespace check_reference
}  // namespace tutti
