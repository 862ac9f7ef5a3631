// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "workloads/check/check_data.hpp"

// The value of any element in a nanosecond, as a word of 1, 2, 4 or 8 bytes.
namespace tutti::check_data {

/// Spreads any two numbers, however near, over all 64 bits (the finaliser of splitmix64).
constexpr std::uint64_t scramble(std::uint64_t word) {
    word += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

/// Random words by position: no state, so that any rank can ask for any place.
/// One round only, as this runs once per element of a message. The upper bits are the good ones.
class Noise {
public:
    explicit constexpr Noise(std::uint64_t key) : key_(scramble(key)) {}

    constexpr std::uint64_t at(std::int64_t position) const {
        std::uint64_t word = key_ + static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15u;
        word ^= word >> 32;
        return word * 0xd6e8feb86659fd93u;
    }

    /// The noise of one of many, as of one rank.
    constexpr Noise branch(int index) const {
        return Noise{key_ + static_cast<std::uint64_t>(index)};
    }

private:
    std::uint64_t key_;
};

// Buffers may begin anywhere, so words are copied in and out; this costs nothing.
template <class Word>
Word load_word(std::span<const std::byte> memory, std::int64_t index) {
    Word word;
    std::memcpy(&word, memory.data() + index * std::int64_t{sizeof(Word)}, sizeof(Word));
    return word;
}

template <class Word>
void store_word(std::span<std::byte> memory, std::int64_t index, Word word) {
    std::memcpy(memory.data() + index * std::int64_t{sizeof(Word)}, &word, sizeof(Word));
}

inline Noise noise_of(const CheckCase& check) { return Noise{check.seed}.branch(check.root); }

/// The contribution of a rank to a collective that only moves data: its own noise.
template <class Word>
class Moved {
public:
    Moved(const CheckCase& check, Rank source)
        : noise_(noise_of(check).branch(source.index)), always_(always_set(check.type)) {}

    Word operator()(std::int64_t position) const {
        const auto upper = static_cast<Word>(noise_.at(position) >> (64 - bits));
        return static_cast<Word>((upper & ~never) | always_);
    }

private:
    static constexpr int bits = 8 * sizeof(Word);

    // The second highest bit is never set. So no value is poison, and as it is the top
    // bit of a float's exponent, no value is infinite or not a number.
    static constexpr Word never = static_cast<Word>(Word{1} << (bits - 2));

    // The lowest bit of a float's exponent: no value is subnormal; some hardware flushes these.
    static Word always_set(DataType type) {
        switch (type) {
            case DataType::fp8_e4m3:
                return static_cast<Word>(Word{1} << 3);
            case DataType::fp8_e5m2:
                return static_cast<Word>(Word{1} << 2);
            case DataType::half:
                return static_cast<Word>(Word{1} << 10);
            case DataType::bfloat16:
                return static_cast<Word>(Word{1} << 7);
            case DataType::float32:
                return static_cast<Word>(std::uint64_t{1} << 23);
            case DataType::float64:
                return static_cast<Word>(std::uint64_t{1} << 52);
            default:
                return 0;
        }
    }

    Noise noise_;
    Word always_;
};

/// One drawn value per element: what its owner holds, or what comes of all shares.
template <class Word>
class Drawn {
public:
    Drawn(const CheckCase& check, const std::array<std::uint64_t, 256>& patterns)
        : noise_(noise_of(check)) {
        for (std::size_t i = 0; i < patterns.size(); ++i)
            values_[i] = static_cast<Word>(patterns[i]);
    }

    Word operator()(std::int64_t position) const { return values_[noise_.at(position) >> 56]; }

private:
    Noise noise_;
    std::array<Word, 256> values_;
};

/// Returns the results for the shares of ranks 0 .. summands - 1, at [owner * 256 + noise], as bit
/// patterns of the type. See ReductionTable.
std::vector<std::uint64_t> prefix_table(DataType type, Op op, int ranks, int summands);

/// The result of the first ranks' shares, per element.
template <class Word>
class PrefixOf {
public:
    PrefixOf(const CheckCase& check, int summands) : noise_(noise_of(check)), ranks_(check.ranks) {
        for (const std::uint64_t pattern :
             prefix_table(check.type, check.op, check.ranks, summands))
            values_.push_back(static_cast<Word>(pattern));
    }

    Word operator()(std::int64_t position) const {
        const auto owner = static_cast<std::size_t>(position % ranks_);
        return values_[owner * 256 + (noise_.at(position) >> 56)];
    }

private:
    Noise noise_;
    int ranks_;
    std::vector<Word> values_;
};

/// Each byte of memory that nothing was written to. Its second highest bit is set, see `Moved`.
inline constexpr std::uint8_t poison_byte = 0xdb;

/// Data to be combined, for all ranks and elements, as bit patterns of the type.
///
/// Rank i mod P owns element i. The owner holds `owned[noise]`, where noise is a byte drawn for the
/// element; the rank d places before the owner holds `shares[d]`. So the result is
/// `results[noise]`, whatever the element. Because ownership alternates, and no share can replace
/// the owned value, P neighbouring elements reveal each rank that is missing or counted twice.
/// Because results are drawn, one in the wrong place or of another seed soon differs.
///
/// Values are exact in any order. L is a limit of the type and s = min(L/16, L/4P) the largest
/// share; the owner holds more than 4s (avg of integers: more than s).
/// * sum of floats: whole numbers, L = 2^3 e5m2, 2^4 e4m3, 2^8 bfloat16, 2^11 half, 2^24 float,
///   2^53 double.
/// * prod of floats: +-2^e, so exponents add up; L = 6 e4m3, 14 e5m2 and half, 126 bfloat16 and
///   float, 1022 double.
/// * sum, prod of integers: they wrap, so all bits are drawn; factors are odd and not 1.
/// * min, max: shares fill a quarter of the range, owned values the rest.
/// * avg of floats: like sum, then one division.
/// * avg of integers: totals are k P or k P - 1, so that one more or one less changes the truncated
///   quotient; L is the largest value, and nothing wraps.
///
/// Where s is 0 only the owner's value counts, and an error shows only on elements of the ranks
/// that have it: sum always e5m2, P > 4 e4m3, 64 bfloat16, 512 half; prod always fp8 and half,
/// P > 31 bfloat16, float, 255 double; avg P > 31 int8, 63 uint8. Not detected: a share that min
/// or max takes twice; a wrong place in avg of uint8 with 2P > L, where all results are 1; anything
/// in avg with P > L, where all results are 0.
struct ReductionTable {
    std::vector<std::uint64_t> shares;  // [0] would be the owner's and is not used
    std::array<std::uint64_t, 256> owned;
    std::array<std::uint64_t, 256> results;
};

ReductionTable reduction_table(DataType type, Op op, int ranks);

}  // namespace tutti::check_data
