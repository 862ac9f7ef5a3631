// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/example_host.hpp"
#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

// Two hosts with something other than the default in each field.
Machine everything() {
    Host host = example_host();
    host.cpu = {"x86_64", "AuthenticAMD", 25, 1};
    host.pcie_switches = {{"0000:80:00.0", "1000:c010", {}, 1, {16, 16}, "1000:a096"},
                          {.above = 0, .link = {32, 8}}};
    host.devices[0].above = 1;
    host.devices[0].link = {31.5, 16};
    host.devices[0].model = "H200 \"NVL\"\n\xc3\xa9";
    host.devices[0].compute_capability = 90;
    host.devices[1].ports = {{"mlx5_0", 0.1}, {"mlx5_0:2", 1e-300}};
    host.devices.push_back({.kind = DeviceKind::nvswitch});
    host.caches[0].kind = CacheKind::instruction;
    host.links = {{LinkKind::nvlink, {}, {LinkEnd::Kind::device, 2}, 18, 370.8, 0.7},
                  {LinkKind::xgmi, {}, {LinkEnd::Kind::device, 1}, 2, 1. / 3},
                  {LinkKind::c2c, {}, {LinkEnd::Kind::numa_node, 1}, 1, 450}};
    host.no_peer_access = {{0, 2}};
    host.transports = {"tcp/eth0", "rc_mlx5/mlx5_0:1"};
    host.not_seen = {"everything"};
    return {.hosts = {host, example_host()}, .network = {{0, 1, 12.5, 2.25}, {1, 0, 12, 3}}};
}

TEST(MachineJson, BringsBackExactlyWhatWasWritten) {
    EXPECT_EQ(parse_machine(to_json(everything()), "FILE"), everything());
    EXPECT_EQ(to_json(parse_machine(to_json(everything()), "FILE")), to_json(everything()));
}

TEST(MachineJson, TakesWhatIsLeftOutAsUnknown) {
    const Machine machine = parse_machine(
        R"({"v": 1, "kind": "machine", "hosts": [{"devices": [{"kind": "GPU"}]}]})", "FILE");
    EXPECT_EQ(machine, (Machine{.hosts = {{.devices = {Device{}}}}, .network = {}}));
}

// In the second line from the end of "{ hosts: [ { <field> } ] }".
std::string complaint_about_host(const std::string& field) {
    return complaint_about("{\"v\": 1, \"kind\": \"machine\",\n\"hosts\": [{\n" + field + "\n}]}");
}

TEST(MachineJson, NamesTheFieldAndTheLineOfWhatIsWrong) {
    const struct {
        const char *field, *complaint;
    } faults[] = {
        {R"("color": "red")", "FILE:3: 'hosts[0].color' is an unknown field; known here: name cpu"},
        {R"("name": 7)", "FILE:3: 'hosts[0].name' is not a string"},
        {R"("cpu": [])", "FILE:3: 'hosts[0].cpu' is not an object"},
        {R"("cpu": {"family": -1})", "FILE:3: 'hosts[0].cpu.family' is not a whole number from 0"},
        {R"("cpu": {"family": 1.5})", "FILE:3: 'hosts[0].cpu.family' is not a whole number"},
        {R"("cpu": {"family": 2147483648})", "FILE:3: 'hosts[0].cpu.family' is not a whole number"},
        {R"("cpu": {"family": 99999999999999999999})", "FILE:3: "},
        {R"("cpu": {"family": 18446744073709551615})",
         "FILE:3: 'hosts[0].cpu.family' is not a whole number"},
        {R"("devices": [{}, {"kind": "TPU"}])",
         "FILE:3: 'hosts[0].devices[1].kind': unknown kind of device 'TPU'"},
        {R"("devices": [{"link": {"GTps": "fast"}}])",
         "FILE:3: 'hosts[0].devices[0].link.GTps' is not a number"},
        {R"("devices": [{"link": {"GTps": -8}}])",
         "FILE:3: 'hosts[0].devices[0].link.GTps' is not a number from 0"},
        {R"("devices": [{"link": {"GTps": 1e999}}])", "FILE:3: the number"},
        {R"("devices": [{"above": 0}])",
         "FILE:3: 'hosts[0].devices[0]': above is 0, but there are 0"},
        {R"("pcie_switches": [{"above": 0}])",
         "FILE:3: 'hosts[0].pcie_switches[0]': above is 0; give a switch"},
        {R"("links": [{"a": {"index": 1}}])",
         "FILE:3: 'hosts[0].links[0]': no device 1, as there are 0"},
        {R"("links": [{"b": {"kind": "NUMA node"}}], "devices": [{}])",
         "FILE:3: 'hosts[0].links[0]': no NUMA node has os_index 0"},
        {R"("packages": [{"cores": [0]}])",
         "FILE:3: 'hosts[0].packages[0]': cores must be ascending positions"},
        {R"("cores": [{"threads": [65536]}])",
         "FILE:3: 'hosts[0].cores[0]': no machine has a CPU 65536"},
        {R"("numa_nodes": [{"os_index": 3}, {"os_index": 3}])",
         "FILE:3: 'hosts[0].numa_nodes[1]': os_index 3 is there twice"},
        {R"("numa_nodes": [{"os_index": 0, "memory_bytes": 1152921504606846976},
{"os_index": 1, "memory_bytes": 1}])",
         "FILE:4: 'hosts[0].numa_nodes[1]': no host has more than 2^60 bytes"},
        {R"("devices": [{}, {}], "links": [{"b": {"index": 1}, "count": 1025}])",
         "FILE:3: 'hosts[0].links[0]': count is 1025; give 0 to 1024"},
        {R"("name": "a", "name": "b")", "FILE:3: the field 'name'"},
        {R"("name": "a",)", "FILE:4: invalid JSON"},
        {R"("name": nul)", "FILE:3: invalid JSON"},
    };
    for (const auto& fault : faults) {
        const std::string complaint = complaint_about_host(fault.field);
        EXPECT_TRUE(complaint.starts_with(fault.complaint)) << fault.field << ": " << complaint;
        EXPECT_TRUE(names_a_line(complaint)) << complaint;
    }
    EXPECT_TRUE(
        complaint_about(R"({"v":1,"kind":"machine"})").starts_with("FILE:1: 'hosts' is missing"));
    EXPECT_TRUE(
        complaint_about("{\"v\":1,\"kind\":\"machine\",\"hosts\":[{}],\n\"network\":[{\"to\":1}]}")
            .starts_with("FILE:2: 'network[0]' leads to a host that is not there"));
}

// A number is followed by the end of its line: the line must not be the next one.
TEST(MachineJson, CountsLinesRightBehindNumbers) {
    EXPECT_TRUE(complaint_about_host("\"name\":\n7\n").starts_with("FILE:4: 'hosts[0].name'"));
}

TEST(MachineJson, IsRefusedWithALineWhereverItIsCutOff) {
    const std::string text = to_json(everything());
    for (std::size_t cut = 0; cut < text.size(); ++cut)
        ASSERT_TRUE(names_a_line(complaint_about(std::string_view(text).substr(0, cut)))) << cut;
}

TEST(MachineJson, ReplacesBytesThatAreNoText) {
    Machine machine = everything();
    machine.hosts[0].name = std::string(1, '\xff');
    EXPECT_NO_THROW(parse_machine(to_json(machine), "FILE"));
}

}  // namespace
}  // namespace tutti
