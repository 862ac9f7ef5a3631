// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/gather_machine.hpp"

#include "topology/detect/detect.hpp"
#include "topology/import/import.hpp"

namespace tutti {

// Each host is sent as the JSON of a machine with only this host.
Machine gather_machine(World& world) {
    const std::string mine =
        world.is_leader() ? to_json(Machine{.hosts = {detect_host()}, .network = {}}) : "";
    Machine machine;
    int rank = 0;
    for (const std::string& text : gather_all_texts(world, mine)) {
        const std::string name = "the host description of rank " + std::to_string(rank++);
        if (text.empty()) continue;
        Machine of_rank = parse_machine(text, name);
        for (Host& host : of_rank.hosts) machine.hosts.push_back(std::move(host));
    }
    return machine;
}

}  // namespace tutti
