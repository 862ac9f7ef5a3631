// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/codec_set.hpp"

namespace tutti {

const CodecSet& fastest_codecs() { return portable_codecs; }

}  // namespace tutti
