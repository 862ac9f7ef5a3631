// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/observations.hpp"

namespace tutti {

std::optional<Observation> observation_of(const Point& point) {
    const Key& key = point.key;
    if (point.skipped || !key.configuration.is_ours() || key.inplace ||
        !key.configuration.order.empty() || !key.placement.empty() || point.time.p50 <= 0 ||
        (key.buf != "registered" && key.buf != "host"))
        return std::nullopt;
    Observation seen;
    seen.configuration = key.configuration;
    seen.call = {
        .call = {.collective = key.coll,
                 .type = key.dtype,
                 .op = key.op.value_or(Op::sum),
                 .root = key.root.value_or(Rank{0}),
                 .count = key.count},
        .buffers = key.buf == "registered" ? BufferKind::registered : BufferKind::unregistered,
        .hosts = Placement::in_nodes_of(key.nranks, key.ppn)};
    seen.time_ns = static_cast<double>(point.time.p50);
    return seen;
}

}  // namespace tutti
