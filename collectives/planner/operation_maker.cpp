// SPDX-License-Identifier: Apache-2.0
#include "collectives/planner/operation_maker.hpp"

#include <algorithm>
#include <new>

namespace tutti {
namespace {

template <class Row>
const Row* row_called(std::span<const Row> rows, std::string_view name) {
    const auto known = std::ranges::find(rows, name, &Row::name);
    return known == rows.end() ? nullptr : &*known;
}

LibraryCall library_call(const Configuration& configuration, const OperationRequest& request) {
    return {.call = request.call,
            .algorithm = configuration.algorithm,
            .in_place = request.buffers.in_place,
            .buffers = memory_of(request.buffers),
            .segment = configuration.segment,
            .fan_out = configuration.radix};
}

std::optional<std::string> library_refusal(World& world, const Configuration& configuration,
                                           const OperationRequest& request) {
    const Baseline* library = row_called(baselines(), configuration.impl);
    if (library == nullptr) return "this build has no library '" + configuration.impl + "'";
    const LibraryCall call = library_call(configuration, request);
    if (auto reason = refusal(world, *library, call)) return reason;
    if (call.buffers != BufferKind::device || library->takes_device) return std::nullopt;
    return configuration.impl + " takes no device buffers; use --buffers registered";
}

}  // namespace

std::optional<std::string> refusal(Planner& planner, const Configuration& configuration,
                                   const OperationRequest& request, const Placement& placement) {
    if (!configuration.is_ours()) return library_refusal(planner.world(), configuration, request);
    const Algorithm* algorithm = algorithm_called(request.call.collective, configuration.algorithm);
    if (algorithm == nullptr)
        return "this build has no " + std::string(name_of(request.call.collective)) + " by '" +
               configuration.algorithm + "'";
    if (row_called(transports(), configuration.transport) == nullptr)
        return "this build has no transport '" + configuration.transport + "'";
    if (auto reason = planner.refuses(configuration.transport, memory_of(request.buffers),
                                      request.registered))
        return reason;
    // A refusal may depend on whether the ranks have an order, but not on which.
    const int ranks = planner.world().size();
    const int channels = std::max(configuration.channels, configuration.order.empty() ? 1 : 2);
    return algorithm->refuses({.collective = request.call.collective,
                               .ranks = ranks,
                               .root = request.call.root,
                               .configuration = configuration,
                               .placement = placement,
                               .order = channels_of({}, channels, ranks)});
}

std::unique_ptr<Operation> make_operation(Planner& planner, const Configuration& configuration,
                                          const OperationRequest& request,
                                          const Environment& environment) {
    const auto& [call, buffers, registered, most_bytes, known] = request;
    if (configuration.is_ours())
        return planner.plan(
            {&find_algorithm(call.collective, configuration.algorithm), configuration, environment},
            call, buffers, registered, most_bytes, known);
    planner.progress().finish_all();  // running plans do not advance while the library blocks
    return find_baseline(configuration.impl)
        .make(planner.world(), library_call(configuration, request), buffers);
}

std::unique_ptr<Operation> make_operation_on_all(Planner& planner,
                                                 const Configuration& configuration,
                                                 const OperationRequest& request) {
    World& world = planner.world();
    const bool runs = !refusal(planner, configuration, request, world.hosts());
    // Refusals by tutti itself are the same on all ranks, and so are its plans' failures.
    if (configuration.is_ours() ? !runs : !true_on_all_ranks(world, runs)) return nullptr;
    std::unique_ptr<Operation> made;
    try {
        made = make_operation(planner, configuration, request, environment_of(world));
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;
    } catch (const std::bad_alloc&) {  // a library may lack memory on this rank only
    }
    if (!configuration.is_ours() && !true_on_all_ranks(world, made != nullptr)) made.reset();
    return made;
}

}  // namespace tutti
