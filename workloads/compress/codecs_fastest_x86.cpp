// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/codec_set.hpp"

namespace tutti {

extern const CodecSet avx2_codecs;

const CodecSet& fastest_codecs() {
    static const bool has_both = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    return has_both ? avx2_codecs : portable_codecs;
}

}  // namespace tutti
