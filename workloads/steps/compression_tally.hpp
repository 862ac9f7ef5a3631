// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace tutti {

/// What compressing did on this rank since it was last set to nothing.
struct CompressionTally {
    std::int64_t ns = 0;      ///< spent encoding, merging and decoding
    double plain_bytes = 0;   ///< that the rank would at least have had to send uncompressed
    double sent_bytes = 0;    ///< that it had to at least
    double union_share = -1;  ///< topk, of the latest call: elements that any rank sent; else -1
};

}  // namespace tutti
