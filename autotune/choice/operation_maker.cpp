// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/operation_maker.hpp"

#include <algorithm>

namespace tutti {
namespace {

template <class Row>
const Row* row_called(std::span<const Row> rows, std::string_view name) {
    const auto known = std::ranges::find(rows, name, &Row::name);
    return known == rows.end() ? nullptr : &*known;
}

// What one rank cannot make, no rank takes. Errors that end the run pass through.
template <class Make>
std::unique_ptr<Operation> made_on_all(World& world, Make&& make) {
    std::unique_ptr<Operation> made;
    try {
        made = make();
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;
    }
    if (!true_on_all_ranks(world, made != nullptr)) made.reset();
    return made;
}

std::unique_ptr<Operation> plan(Planner& planner, const Configuration& configuration,
                                const OperationRequest& wish) {
    const Algorithm* algorithm = algorithm_called(wish.call.collective, configuration.algorithm);
    const bool is_there = algorithm != nullptr &&
                          row_called(transports(), configuration.transport) != nullptr &&
                          !planner.refuses(configuration.transport, memory_of(wish.buffers));
    if (!is_there) return nullptr;
    Choice choice{.algorithm = algorithm, .transport = configuration.transport};
    choice.segment =
        configuration.segment.count > 0 ? configuration.segment : default_segment(planner.world());
    choice.radix = configuration.radix;
    choice.channels = configuration.channels;
    return made_on_all(planner.world(), [&] {
        return planner.plan(choice, wish.call, wish.buffers, wish.registered);
    });
}

std::unique_ptr<Operation> library_call(Planner& planner, const Configuration& configuration,
                                        const OperationRequest& wish) {
    World& world = planner.world();
    const Baseline* library = row_called(baselines(), configuration.impl);
    const LibraryCall what{wish.call, configuration.algorithm, wish.buffers.in_place,
                           memory_of(wish.buffers)};
    const bool runs = library != nullptr && !refusal(world, *library, what);
    if (!true_on_all_ranks(world, runs)) return nullptr;
    planner.progress().finish_all();  // what is under way does not move while the library waits
    return made_on_all(world, [&] { return library->make(world, what, wish.buffers); });
}

}  // namespace

std::unique_ptr<Operation> operation(Planner& planner, const Configuration& configuration,
                                     const OperationRequest& wish) {
    return configuration.is_ours() ? plan(planner, configuration, wish)
                                   : library_call(planner, configuration, wish);
}

}  // namespace tutti
