// SPDX-License-Identifier: Apache-2.0
#include "base/hashes.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace tutti {
namespace {

// Names as in FIPS 180-4: K are the constants, H the hash value, W the message schedule, a..h the
// working variables.
using Word = std::uint32_t;

constexpr std::array<Word, 64> K{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(std::array<Word, 8>& H, std::span<const char, 64> block) {
    std::array<Word, 64> W;
    for (std::size_t t = 0; t < 16; ++t) {
        W[t] = 0;
        for (const char byte : block.subspan(4 * t, 4))
            W[t] = W[t] << 8 | static_cast<std::uint8_t>(byte);
    }
    for (std::size_t t = 16; t < 64; ++t) {
        const Word s0 = std::rotr(W[t - 15], 7) ^ std::rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        const Word s1 = std::rotr(W[t - 2], 17) ^ std::rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = W[t - 16] + s0 + W[t - 7] + s1;
    }

    auto [a, b, c, d, e, f, g, h] = H;
    for (std::size_t t = 0; t < 64; ++t) {
        const Word S1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const Word S0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const Word choice = (e & f) ^ (~e & g);
        const Word majority = (a & b) ^ (a & c) ^ (b & c);
        const Word T1 = h + S1 + choice + K[t] + W[t];
        h = g, g = f, f = e, e = d + T1;
        d = c, c = b, b = a, a = T1 + S0 + majority;
    }
    const std::array after{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < H.size(); ++i) H[i] += after[i];
}

// The message, a one bit, zeros up to a whole block, and the length in bits.
std::string padded(std::string_view text) {
    std::string message(text);
    message += '\x80';
    while (message.size() % 64 != 56) message += '\0';
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift);
    return message;
}

}  // namespace

std::string sha256(std::string_view text) {
    std::array<Word, 8> H{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const std::string message = padded(text);
    for (std::size_t at = 0; at < message.size(); at += 64)
        add_block(H, std::span<const char, 64>(message.data() + at, 64));
    std::string digest;
    for (const Word word : H) digest += fmt::format("{:08x}", word);
    return digest;
}

}  // namespace tutti
