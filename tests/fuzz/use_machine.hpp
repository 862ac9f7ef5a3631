// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that a machine can be printed, written and read again.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "tests/fuzz/demand.hpp"
#include "topology/draw/draw.hpp"
#include "topology/import/import.hpp"
#include "topology/machine/fingerprint.hpp"
#include "topology/routes/nccl_export.hpp"
#include "topology/routes/paths.hpp"

namespace tutti {

inline bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) <= '~'; });
}

inline void use(const Machine& machine) {
    constexpr std::size_t enough = 16;  // limit for checks with quadratic time
    const auto is_small = [](const Host& host) {
        return host.devices.size() <= enough && host.pcie_switches.size() <= enough &&
               host.numa_nodes.size() <= enough;
    };
    for (const Host& host : machine.hosts) {
        print_tree(host);
        fingerprint(host);
        if (is_small(host)) paths_of(graph_of(host));
    }
    if (machine.hosts.size() <= enough && std::ranges::all_of(machine.hosts, is_small)) {
        to_picture_json(machine);
        to_dot(machine);
    }
    const std::string json = to_json(machine);
    if (is_ascii(json))  // invalid UTF-8 is replaced
        demand(parse_machine(json, "json") == machine, "JSON brings back the machine");
    for (const Host& host : machine.hosts) {
        try {
            parse_machine(to_nccl_xml(host), "nccl");
        } catch (const Error&) {
            continue;  // a hand-written description may not fit into NCCL's file
        }
    }
}

}  // namespace tutti
