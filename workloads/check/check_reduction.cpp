// SPDX-License-Identifier: Apache-2.0
#include "workloads/check/check_reduction.hpp"

#include <concepts>
#include <limits>

#include "workloads/check/check_number.hpp"
#include "workloads/check/check_schemes.hpp"

namespace tutti::check_data {
namespace {

template <class Scheme>
ReductionTable tabulate(const Scheme& scheme, int ranks, std::uint64_t poison_pattern) {
    ReductionTable table;
    Draws draws;
    auto rest = Scheme::nothing;
    table.shares.push_back(0);
    for (int before_owner = 1; before_owner < ranks; ++before_owner) {
        const auto share = scheme.share(draws);
        rest = scheme.combine(rest, share);
        table.shares.push_back(scheme.value(share));
    }
    for (std::size_t noise = 0; noise < table.results.size(); ++noise) {
        do {
            const auto owned = scheme.owned(draws, rest);
            table.owned[noise] = scheme.value(owned);
            table.results[noise] = scheme.result(scheme.combine(rest, owned));
        } while (table.results[noise] == poison_pattern);
    }
    return table;
}

template <class T>
ReductionTable table_of(Op op, int ranks) {
    const std::uint64_t all_bytes = std::numeric_limits<WordOf<sizeof(T)>>::max() / 0xffu;
    const auto table = [&](const auto& scheme) {
        return tabulate(scheme, ranks, poison_byte * all_bytes);
    };
    if (op == Op::min || op == Op::max) return table(Extreme<T>{.takes_largest = op == Op::max});
    if constexpr (std::integral<T>) {
        if (op == Op::sum) return table(WrappingSum<T>{});
        if (op == Op::prod) return table(WrappingProduct<T>{});
        return table(TruncatedAverage<T>{ranks});
    } else {
        if (op == Op::sum) return table(ExactSum<T>{ranks});
        if (op == Op::prod) return table(ExactProduct<T>{ranks});
        return table(ExactAverage<T>{ranks});
    }
}

}  // namespace

ReductionTable reduction_table(DataType type, Op op, int ranks) {
    return with_type(type, [&]<class T>() { return table_of<T>(op, ranks); });
}

}  // namespace tutti::check_data
