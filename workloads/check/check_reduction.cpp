// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/index.hpp"
#include "workloads/check/check_number.hpp"
#include "workloads/check/check_values.hpp"

// How the values of one operation are drawn; ReductionTable lists them all. A scheme draws the
// shares, draws what the owner adds to the `rest` of them, combines these in a domain without loss,
// and says how a value and a result are stored.
namespace tutti::check_data {
namespace {

// The numbers that fill one table, always the same.
class Draws {
public:
    std::uint64_t word() { return scramble(drawn_++); }
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(bound));
    }
    std::int64_t either_sign(std::int64_t size) { return below(2) == 0 ? size : -size; }

private:
    std::uint64_t drawn_ = 0;
};

template <std::integral T>
struct WrappingSum {
    using Value = std::uint64_t;
    static constexpr Value nothing = 0;
    Value share(Draws& draws) const { return draws.word() | 1; }  // never 0
    Value owned(Draws& draws, Value) const { return draws.word(); }
    Value combine(Value a, Value b) const { return a + b; }
    std::uint64_t value(Value total) const { return pattern_of(static_cast<T>(total)); }
    std::uint64_t result(Value total) const { return value(total); }
};

template <std::integral T>
struct WrappingProduct {
    using Value = std::uint64_t;
    static constexpr Value nothing = 1;
    Value share(Draws& draws) const { return draws.word() | 3; }  // odd: can be undone; never 1
    Value owned(Draws& draws, Value) const { return draws.word() | 3; }
    Value combine(Value a, Value b) const { return a * b; }
    std::uint64_t value(Value total) const { return pattern_of(static_cast<T>(total)); }
    std::uint64_t result(Value total) const { return value(total); }
};

// Whole numbers of either sign; no sum of some of them exceeds +-limit.
class Bounded {
public:
    Bounded(std::int64_t limit, int ranks)
        : largest_share_(std::min(limit / 16, limit / 4 / ranks)),
          largest_owned_(limit - largest_share_ * ranks) {}

    std::int64_t largest_share() const { return largest_share_; }

    std::int64_t share(Draws& draws) const {
        return largest_share_ == 0 ? 0 : draws.either_sign(1 + draws.below(largest_share_));
    }
    // More than any four shares, so that these cannot replace it.
    std::int64_t owned(Draws& draws) const {
        const std::int64_t too_small = 4 * largest_share_;
        return draws.either_sign(too_small + 1 + draws.below(largest_owned_ - too_small));
    }

private:
    std::int64_t largest_share_;
    std::int64_t largest_owned_;
};

template <class T>
struct ExactSum {
    using Value = std::int64_t;
    static constexpr Value nothing = 0;
    Bounded bounded;

    explicit ExactSum(int ranks) : bounded(exact_integers<T>, ranks) {}
    Value share(Draws& draws) const { return bounded.share(draws); }
    Value owned(Draws& draws, Value) const { return bounded.owned(draws); }
    Value combine(Value a, Value b) const { return a + b; }
    std::uint64_t value(Value number) const { return pattern_of_number<T>(number); }
    std::uint64_t result(Value total) const { return value(total); }
};

template <class T>
struct ExactAverage : ExactSum<T> {
    int ranks;

    explicit ExactAverage(int ranks_) : ExactSum<T>(ranks_), ranks(ranks_) {}
    std::uint64_t result(std::int64_t total) const {  // one rounding, as in every kernel
        return pattern_of(T(static_cast<WideOf<T>>(total) / static_cast<WideOf<T>>(ranks)));
    }
};

// Powers +-2^e: products add up exponents, so these must stay bounded.
template <class T>
struct ExactProduct {
    struct Value {
        std::int64_t exponent;
        bool negative;
    };
    static constexpr Value nothing{.exponent = 0, .negative = false};
    Bounded bounded;

    explicit ExactProduct(int ranks) : bounded(exact_exponents<T>, ranks) {}
    Value share(Draws& draws) const { return {bounded.share(draws), draws.below(2) == 1}; }
    Value owned(Draws& draws, Value) const { return {bounded.owned(draws), draws.below(2) == 1}; }
    Value combine(Value a, Value b) const {
        return {a.exponent + b.exponent, a.negative != b.negative};
    }
    std::uint64_t value(Value power) const {
        const auto size = std::ldexp(WideOf<T>{1}, static_cast<int>(power.exponent));
        return pattern_of(T(power.negative ? -size : size));
    }
    std::uint64_t result(Value product) const { return value(product); }
};

// The owner always wins; values are distances from the losing end of the range.
template <class T>
struct Extreme {
    using Value = std::uint64_t;
    static constexpr Value nothing = 0;
    bool takes_largest;

    static constexpr std::uint64_t lowest = safe_range<T>().lowest;
    static constexpr std::uint64_t span = safe_range<T>().span;

    Value share(Draws& draws) const { return draws.word() % (span / 4); }
    Value owned(Draws& draws, Value) const { return span / 4 + draws.word() % (span - span / 4); }
    Value combine(Value a, Value b) const { return std::max(a, b); }
    std::uint64_t value(Value distance) const {
        return pattern_of_number<T>(
            static_cast<std::int64_t>(lowest + (takes_largest ? distance : span - distance)));
    }
    std::uint64_t result(Value distance) const { return value(distance); }
};

// Totals are k P or k P - 1, of either sign if the type has one.
template <std::integral T>
struct TruncatedAverage {
    using Value = std::int64_t;
    static constexpr Value nothing = 0;
    // Kept below 2^62 so that nothing overflows here.
    static constexpr std::int64_t limit =
        sizeof(T) == 8 ? std::int64_t{1} << 62
                       : static_cast<std::int64_t>(std::numeric_limits<T>::max());
    int ranks;
    Bounded bounded;

    explicit TruncatedAverage(int ranks_) : ranks(ranks_), bounded(limit, ranks_) {}
    Value share(Draws& draws) const {
        const Value share = bounded.share(draws);
        return std::signed_integral<T> ? share : std::abs(share);
    }
    Value owned(Draws& draws, Value rest) const {
        // The owner adds what the rest lacks: something, and not more than the limit.
        const std::int64_t smallest = bounded.largest_share() + 1;
        const std::int64_t largest = limit / ranks - bounded.largest_share();
        if (largest < smallest) return -rest;  // P > limit
        const std::int64_t quotient = smallest + draws.below(largest - smallest + 1);
        // P - 1 would give 0, as does a missing owner.
        const std::int64_t total = std::max<Value>(ranks, quotient * ranks - draws.below(2));
        return (std::signed_integral<T> ? draws.either_sign(total) : total) - rest;
    }
    Value combine(Value a, Value b) const { return a + b; }
    std::uint64_t value(Value number) const { return pattern_of_number<T>(number); }
    // With P > limit sums of some of the values wrap, as those of the type do.
    std::uint64_t result(Value total) const { return value(static_cast<T>(total) / ranks); }
};

// The values of a table before they are stored.
template <class Scheme>
struct DrawnValues {
    using Value = typename Scheme::Value;
    std::vector<Value> shares;  // by places before the owner; [0] is not used
    Value rest = Scheme::nothing;
    std::array<Value, 256> owned;
};

template <class Scheme>
DrawnValues<Scheme> drawn_values(const Scheme& scheme, int ranks, std::uint64_t poison_pattern) {
    DrawnValues<Scheme> values;
    Draws draws;
    values.shares.push_back(Scheme::nothing);
    for (int before_owner = 1; before_owner < ranks; ++before_owner) {
        values.shares.push_back(scheme.share(draws));
        values.rest = scheme.combine(values.rest, values.shares.back());
    }
    for (auto& owned : values.owned) do
            owned = scheme.owned(draws, values.rest);
        while (scheme.result(scheme.combine(values.rest, owned)) == poison_pattern);
    return values;
}

// Calls visit(scheme, its values).
template <class T, class Visit>
auto with_scheme(Op op, int ranks, Visit visit) {
    const auto with = [&](const auto& scheme) {
        const std::uint64_t all_bytes = std::numeric_limits<WordOf<sizeof(T)>>::max() / 0xffu;
        return visit(scheme, drawn_values(scheme, ranks, poison_byte * all_bytes));
    };
    if (op == Op::min || op == Op::max) return with(Extreme<T>{.takes_largest = op == Op::max});
    if constexpr (std::integral<T>) {
        if (op == Op::sum) return with(WrappingSum<T>{});
        if (op == Op::prod) return with(WrappingProduct<T>{});
        return with(TruncatedAverage<T>{ranks});
    } else {
        if (op == Op::sum) return with(ExactSum<T>{ranks});
        if (op == Op::prod) return with(ExactProduct<T>{ranks});
        return with(ExactAverage<T>{ranks});
    }
}

}  // namespace

ReductionTable reduction_table(DataType type, Op op, int ranks) {
    const auto tabulate = [](const auto& scheme, const auto& values) {
        ReductionTable table;
        table.shares.push_back(0);
        for (std::size_t i = 1; i < values.shares.size(); ++i)
            table.shares.push_back(scheme.value(values.shares[i]));
        for (std::size_t noise = 0; noise < table.results.size(); ++noise) {
            table.owned[noise] = scheme.value(values.owned[noise]);
            table.results[noise] = scheme.result(scheme.combine(values.rest, values.owned[noise]));
        }
        return table;
    };
    return with_type(type, [&]<class T>() { return with_scheme<T>(op, ranks, tabulate); });
}

std::vector<std::uint64_t> prefix_table(DataType type, Op op, int ranks, int summands) {
    const auto tabulate = [&](const auto& scheme, const auto& values) {
        std::vector<std::uint64_t> results;
        for (int owner = 0; owner < ranks; ++owner) {
            auto rest = scheme.nothing;
            for (int rank = 0; rank < summands; ++rank)
                if (rank != owner)
                    rest = scheme.combine(rest,
                                          values.shares[as_size((owner - rank + ranks) % ranks)]);
            for (const auto& owned : values.owned)
                results.push_back(
                    scheme.result(owner < summands ? scheme.combine(rest, owned) : rest));
        }
        return results;
    };
    return with_type(type, [&]<class T>() { return with_scheme<T>(op, ranks, tabulate); });
}

}  // namespace tutti::check_data
