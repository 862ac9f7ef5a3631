// SPDX-License-Identifier: Apache-2.0
#include "collectives/formats/simulated_nodes.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "collectives/formats/file_programs.hpp"

namespace tutti {
namespace {

std::vector<SimulatedNode> nodes_of(const std::vector<FileOperation>& program,
                                    const std::vector<std::int64_t>& begins) {
    std::vector<SimulatedNode> nodes;
    std::vector<int> node_of;  // the last one of each operation
    for (const FileOperation& operation : program) {
        SimulatedNode node{
            .peer = operation.peer.index,
            .tag = operation.message,
            .bytes = at(begins, operation.chunk + operation.count) - at(begins, operation.chunk)};
        std::vector<int> after;
        for (const int before : operation.sources_of) after.push_back(at(node_of, before));
        const FileAction action = operation.action;
        if (action == FileAction::receive || action == FileAction::receive_reduce) {
            node.kind = SimulatedNode::Kind::receive;
            nodes.push_back(node);
            after.push_back(int_size(nodes) - 1);
        }
        if (action != FileAction::receive) {
            node.kind = action == FileAction::send ? SimulatedNode::Kind::send
                                                   : SimulatedNode::Kind::compute;
            node.after = std::move(after);
            nodes.push_back(node);
        }
        node_of.push_back(int_size(nodes) - 1);
    }
    return nodes;
}

}  // namespace

std::vector<std::vector<SimulatedNode>> simulated_nodes(const ExportedSchedule& exported) {
    const CollectiveSpec& spec = exported.spec;
    const int chunks = exported.schedule.chunks();
    const bool is_of_pairs = spec.collective() == Collective::all_to_all;
    // A barrier's messages have one byte.
    const std::int64_t whole = has_buffers(spec.collective())
                                   ? exported.size.count * (is_of_pairs ? spec.ranks() : 1)
                                   : chunks;
    if (whole < chunks)
        throw Error(
            fmt::format("--size {} is below one byte for each of {} chunks; use a larger "
                        "--size",
                        to_string(exported.size), chunks));
    std::vector<std::int64_t> begins;  // by chunk, in bytes
    for (std::int64_t chunk = 0; chunk <= chunks; ++chunk)
        begins.push_back(whole / chunks * chunk + whole % chunks * chunk / chunks);
    // In place if possible, so that no time goes into copies from input to output.
    const FilePlaces places(exported.schedule.chunks(), spec,
                            spec.exchanges() ? Aliasing::none : Aliasing::in_place);
    std::vector<std::vector<SimulatedNode>> nodes;
    for (const auto& program :
         programs_of(place_moves(exported.schedule, places, {}), places, spec.ranks()))
        nodes.push_back(nodes_of(program, begins));
    return nodes;
}

}  // namespace tutti
