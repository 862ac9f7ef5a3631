// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

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

}  // namespace tutti::check_data
