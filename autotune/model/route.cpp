// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/route.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

bool is_of_one_host(std::string_view transport) { return transport.starts_with("shm"); }

Route route_on_host(std::string_view transport, Schedule schedule, const ModelCall& model_call,
                    const HostTuning& tuning) {
    const Call& call = model_call.call;
    const int ranks = model_call.ranks();
    const bool is_unregistered =
        transport == "shm-cma" ||
        (transport != "shm-mapped" && model_call.buffers == BufferKind::unregistered);
    const Bytes most = is_unregistered ? tuning.ll_up_to_unregistered : tuning.ll_up_to;
    const Bytes vector{total_bytes(call, ranks)};
    if (transport == "shm-lines" || (transport == "shm" && vector <= most))
        return {std::move(schedule), TransferMethod::messages, "shm-lines"};
    if (!is_unregistered)
        return {std::move(schedule), TransferMethod::direct, "shm-direct/registered"};
    if (transport == "shm-cma" ||
        (transport == "shm" && is_worth_single_copy(call, ranks, schedule.chunks(), tuning)))
        return {std::move(schedule), TransferMethod::single_copy, "shm-cma/unregistered"};
    const int pieces = copy_in_pieces(call, ranks, schedule.chunks(), tuning.stage_piece);
    return {pieces > 1 ? pipelined(schedule, pieces) : std::move(schedule),
            TransferMethod::copy_in_copy_out, "shm-direct/unregistered"};
}

bool is_oversubscribed(const Placement& hosts, int cores) {
    return std::ranges::any_of(hosts.nodes(), [&](const auto& host) {
        return host.size() > static_cast<std::size_t>(cores);
    });
}

}  // namespace

std::optional<Route> route_of(const Configuration& configuration, const ModelCall& call,
                              const ModelledMachine& machine) {
    if (!configuration.is_ours() || call.ranks() < 1) return std::nullopt;
    const Algorithm* algorithm = algorithm_called(call.call.collective, configuration.algorithm);
    const bool one_host = call.hosts.nodes().size() == 1;
    if (algorithm == nullptr || (!one_host && is_of_one_host(configuration.transport)))
        return std::nullopt;
    const Environment environment{.default_segment =
                                      one_host ? segment_on_host : segment_across_hosts};
    const Job job =
        job_of({algorithm, configuration, environment}, call.call, call.ranks(), call.hosts);
    if (algorithm->refuses(job)) return std::nullopt;
    Schedule schedule = build_in_order(*algorithm, job);
    Route route =
        is_of_one_host(configuration.transport)
            ? route_on_host(configuration.transport, std::move(schedule), call, machine.tuning)
            : Route{schedule, TransferMethod::messages,
                    fmt::format("{}/{}", configuration.transport, name_of(call.buffers)),
                    lanes_for(*algorithm, job, schedule)};
    if (is_oversubscribed(call.hosts, machine.cores)) route.parameters += " oversubscribed";
    return route;
}

double bytes_of_all_buffers(const Call& call, int ranks) {
    double bytes = 0;
    for (const Rank rank : all_ranks(ranks))
        bytes += static_cast<double>(input_bytes(call, ranks, rank)) +
                 static_cast<double>(output_bytes(call, ranks, rank));
    return bytes;
}

}  // namespace tutti
