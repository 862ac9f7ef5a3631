// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/host_tuning.hpp"

#include <algorithm>
#include <bit>

namespace tutti {

HostTuning tuning_from(const Host& host) {
    int last_level = 0;
    for (const Cache& cache : host.caches) last_level = std::max(last_level, cache.level);
    Bytes all, own;
    for (const Cache& cache : host.caches) {
        if (cache.kind == CacheKind::instruction) continue;
        if (cache.level == last_level) all.count += cache.size.count;
        if (cache.cores.size() <= 1) own = std::max(own, cache.size);
    }
    HostTuning tuning;
    if (all.count > 0) tuning.stream_from = all;
    if (own.count > 0)
        tuning.stage_piece.count = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(own.count) / 12)),
            16 << 10, 256 << 10);
    return tuning;
}

}  // namespace tutti
