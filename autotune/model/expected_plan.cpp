// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/expected_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/transport/table/transports.hpp"

namespace tutti {
namespace {

// Mapped memory is as fast as registered memory. Between messages, accesses of memory have
// parameters of their own: "hybrid shm-direct/registered".
std::string parameters_of(TransferMethod method, const TransportRow& transport,
                          BufferKind buffers) {
    const std::string between =
        transport.methods.are_hybrid() ? std::string(transport.name) + " " : "";
    switch (method) {
        using enum TransferMethod;
        case lines:
            return "shm-lines";
        case registered:
        case mapped:
            return between + "shm-direct/registered";
        case copy_in_copy_out:
            return between + "shm-direct/unregistered";
        case single_copy:
            return between + "shm-cma/unregistered";
        default:
            return fmt::format(
                "{}/{}", transport.name,
                name_of(buffers == BufferKind::mapped ? BufferKind::registered : buffers));
    }
}

// Returns whether the transport connects ranks on these hosts, see hybrid_refuses().
bool connects(const TransportRow& transport, const Placement& hosts) {
    const bool one_host = hosts.nodes().size() == 1;
    if (!transport.methods.are_hybrid()) return one_host || !transport.methods.are_of_one_host();
    return !one_host &&
           std::ranges::any_of(hosts.nodes(), [](const auto& host) { return host.size() > 1; });
}

bool is_oversubscribed(const Placement& hosts, int cores) {
    return std::ranges::any_of(hosts.nodes(), [&](const auto& host) {
        return host.size() > static_cast<std::size_t>(cores);
    });
}

}  // namespace

std::optional<ExpectedPlan> expected_plan(const Configuration& configuration,
                                          const RoutedCall& call, const ModelledMachine& machine) {
    if (!configuration.is_ours() || call.ranks() < 1) return std::nullopt;
    const Algorithm* algorithm = algorithm_called(call.call.collective, configuration.algorithm);
    const auto transport =
        std::ranges::find(transports(), configuration.transport, &TransportRow::name);
    if (algorithm == nullptr || transport == transports().end() ||
        !connects(*transport, call.hosts))
        return std::nullopt;
    const bool one_host = call.hosts.nodes().size() == 1;
    const Environment environment{
        .default_segment = one_host ? segment_on_host : segment_across_hosts,
        .links = machine.links};
    const Choice choice{algorithm, configuration, environment};
    if (algorithm->refuses(job_of(choice, call.call, call.ranks(), call.hosts)))
        return std::nullopt;
    RoutedCall routed = call;
    routed.oversubscribed = is_oversubscribed(call.hosts, machine.cores);
    const Route route = route_of(choice, routed, transport->methods, machine.tuning);
    const Way& way = route.ways[route.expected];
    ExpectedPlan plan{schedule_of(route.schedule, way), way,
                      parameters_of(way.method, *transport, call.buffers)};
    if (routed.oversubscribed) plan.parameters += " oversubscribed";
    return plan;
}

}  // namespace tutti
