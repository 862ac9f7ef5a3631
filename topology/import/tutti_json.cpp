// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <set>

#include "base/index.hpp"
#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "topology/import/formats.hpp"
#include "topology/machine/machine_fields.hpp"

namespace tutti {
namespace {

// Checks that references between the parts of a host are valid and sums do not overflow.
class References {
public:
    References(const Host& host, const JsonPlace& place) : host_(host), place_(place) {}

    void check() {
        check_numa_nodes();
        check_cores("packages", host_.packages);
        check_cores("numa_nodes", host_.numa_nodes);
        check_cores("caches", host_.caches);
        check_switches();
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (const auto above = host_.devices[i].above;
                above && as_size(*above) >= host_.pcie_switches.size())
                fail("devices", i,
                     fmt::format("above is {}, but there are {} pcie_switches", *above,
                                 host_.pcie_switches.size()));
        for (std::size_t i = 0; i < host_.switch_links.size(); ++i)
            for (const int end : {host_.switch_links[i].a, host_.switch_links[i].b})
                if (as_size(end) >= host_.pcie_switches.size())
                    fail("switch_links", i, fmt::format("PCIe switch {} does not exist", end));
        for (std::size_t i = 0; i < host_.links.size(); ++i)
            if (host_.links[i].count > most_links)
                fail(
                    "links", i,
                    fmt::format("count is {}, not from 0 to {}", host_.links[i].count, most_links));
        for (std::size_t i = 0; i < host_.links.size(); ++i)
            for (const LinkEnd end : {host_.links[i].a, host_.links[i].b}) check_end(i, end);
        for (std::size_t i = 0; i < host_.no_peer_access.size(); ++i)
            for (const int gpu : {host_.no_peer_access[i].a, host_.no_peer_access[i].b})
                check_device("no_peer_access", i, gpu);
        for (std::size_t i = 0; i < host_.cores.size(); ++i)
            for (const int cpu : host_.cores[i].threads)
                if (cpu >= most_cpus) fail("cores", i, fmt::format("CPU {} is too large", cpu));
    }

private:
    [[noreturn]] void fail(const char* field, std::size_t position, const std::string& what) const {
        place_.needed(field).item(position).fail_as(what);
    }

    void check_numa_nodes() {
        constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < host_.numa_nodes.size(); ++i) {
            const NumaNode& node = host_.numa_nodes[i];
            if (!numa_nodes_.insert(node.os_index).second)
                fail("numa_nodes", i, fmt::format("os_index {} appears twice", node.os_index));
            if (node.memory.count > most_bytes - bytes)
                fail("numa_nodes", i, "a host has at most 2^60 bytes of memory");
            bytes += node.memory.count;
        }
    }

    template <class Part>
    void check_cores(const char* field, const std::vector<Part>& parts) const {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            int least = 0;
            for (const int core : parts[i].cores) {
                if (core < least || as_size(core) >= host_.cores.size())
                    fail(field, i,
                         fmt::format("cores must be ascending positions below {}",
                                     host_.cores.size()));
                least = core + 1;
            }
        }
    }

    void check_switches() const {
        constexpr int deepest = 64;
        std::vector<int> depth;
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i) {
            const auto above = host_.pcie_switches[i].above;
            if (above && as_size(*above) >= i)
                fail("pcie_switches", i,
                     fmt::format("above is {}, which is not an earlier switch", *above));
            depth.push_back(above ? depth[*above] + 1 : 1);
            if (depth.back() > deepest) fail("pcie_switches", i, "too many switches above");
        }
    }

    void check_device(const char* field, std::size_t part, int device) const {
        if (as_size(device) >= host_.devices.size())
            fail(field, part,
                 fmt::format("device {} does not exist, there are {}", device,
                             host_.devices.size()));
    }

    void check_end(std::size_t link, LinkEnd end) const {
        if (end.kind == LinkEnd::Kind::device) check_device("links", link, end.index);
        if (end.kind == LinkEnd::Kind::numa_node && !numa_nodes_.contains(end.index))
            fail("links", link, fmt::format("NUMA node {} does not exist", end.index));
    }

    const Host& host_;
    const JsonPlace& place_;
    std::set<int> numa_nodes_;
};

constexpr JsonRules rules{.numbers = JsonRules::Numbers::from_0,
                          .unknown_fields = JsonRules::UnknownFields::refused};

}  // namespace

void check(const Host& host, const JsonPlace& place) { References(host, place).check(); }

Machine read_tutti_json(const Source& source) {
    const JsonValue json = parse_json(source);
    const JsonPlace file(json, source, rules);
    JsonReader reader(file);
    std::string kind;
    int version = 0;
    reader.always("v", version);
    reader.always("kind", kind);
    if (kind != "machine" || version != 1)
        source.fail(json.line,
                    "JSON without \"v\": 1 and \"kind\": \"machine\"; use the output of "
                    "`tutti topo --json`");
    Machine machine;
    walk(reader, machine);
    reader.refuse_others();
    if (machine.hosts.empty()) source.fail(json.line, "'hosts' is missing or empty");
    const auto hosts = int_size(machine.hosts);
    for (std::size_t i = 0; i < machine.network.size(); ++i)
        if (machine.network[i].from >= hosts || machine.network[i].to >= hosts)
            file.needed("network").item(i).fail(
                fmt::format("leads to a missing host; use 0 to {}", hosts - 1));
    return machine;
}

std::string to_json(const Machine& machine) {
    JsonWriter writer{.object = {{"v", 1}, {"kind", "machine"}}};
    walk(writer, machine);
    return writer.object.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti
