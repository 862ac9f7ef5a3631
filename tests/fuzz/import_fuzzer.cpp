// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes are, reading them ends with a machine or with one line that names file and
// line; and a machine that was read can be printed, written and read again.
#include <algorithm>
#include <cstdint>

#include "tests/fuzz/demand.hpp"
#include "topology/draw/draw.hpp"
#include "topology/import/import.hpp"
#include "topology/machine/fingerprint.hpp"
#include "topology/routes/nccl_export.hpp"
#include "topology/routes/paths.hpp"

namespace {

using namespace tutti;

bool is_text(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) > '~') return false;
    return true;
}

// What costs the square of a host's parts is tried where there are few.
constexpr std::size_t enough = 16;
bool is_small(const Host& host) {
    return host.devices.size() <= enough && host.pcie_switches.size() <= enough &&
           host.numa_nodes.size() <= enough;
}

void use(const Machine& machine) {
    for (const Host& host : machine.hosts) {
        print_tree(host);
        fingerprint(host);
        if (is_small(host)) paths_of(graph_of(host));
    }
    if (machine.hosts.size() <= enough && std::ranges::all_of(machine.hosts, is_small)) {
        to_svg(machine);
        to_dot(machine);
    }
    const std::string json = to_json(machine);
    if (is_text(json))  // what is no UTF-8 is replaced
        demand(parse_machine(json, "json") == machine, "JSON brings back the machine");
    for (const Host& host : machine.hosts) {
        try {
            parse_machine(to_nccl_xml(host), "nccl");
        } catch (const Error&) {
            continue;  // a description by hand may hold what NCCL's file cannot
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        use(parse_machine(text_of(data, size), "FILE"));
    } catch (const Error& error) {
        demand_place(error, "FILE");
    }
    return 0;
}
