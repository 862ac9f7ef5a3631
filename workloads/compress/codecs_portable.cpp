// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/codec_loops.hpp"

namespace tutti {
namespace {

void encode_half(const float* from, std::size_t count, Half* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = Half(from[i]);
}

void decode_half(const Half* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace

const CodecSet portable_codecs{encode_bf16, decode_bf16, encode_half, decode_half,
                               encode_int8, decode_int8, add_int8};

}  // namespace tutti
