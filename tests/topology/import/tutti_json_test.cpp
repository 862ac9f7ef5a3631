// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/example_host.hpp"
#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

// Two hosts with a value other than the default in each field.
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

TEST(MachineJson, IsRecognisedAlthoughANameHasTheWordsOfAnotherFormat) {
    Machine machine = everything();
    machine.hosts.front().name = "\"kind\" between DRM devices 0";
    EXPECT_EQ(parse_machine(to_json(machine), "FILE"), machine);
}

TEST(MachineJson, TakesWhatIsLeftOutAsUnknown) {
    const Machine machine = parse_machine(
        R"({"v": 1, "kind": "machine", "hosts": [{"devices": [{"kind": "GPU"}]}]})", "FILE");
    EXPECT_EQ(machine, (Machine{.hosts = {{.devices = {Device{}}}}, .network = {}}));
}

// Puts the field in line 3.
std::string complaint_about_host(const std::string& field) {
    return complaint_about("{\"v\": 1, \"kind\": \"machine\",\n\"hosts\": [{\n" + field + "\n}]}");
}

TEST(MachineJson, NamesTheFieldAndTheLineOfWhatIsWrong) {
    const struct {
        const char *field, *complaint;
    } faults[] = {
        {R"("color": "red")", "FILE:3: 'hosts[0].color'"},
        {R"("name": 7)", "FILE:3: 'hosts[0].name'"},
        {R"("cpu": [])", "FILE:3: 'hosts[0].cpu'"},
        {R"("cpu": {"family": -1})", "FILE:3: 'hosts[0].cpu.family'"},
        {R"("cpu": {"family": 1.5})", "FILE:3: 'hosts[0].cpu.family'"},
        {R"("cpu": {"family": 2147483648})", "FILE:3: 'hosts[0].cpu.family'"},
        {R"("cpu": {"family": 99999999999999999999})", "FILE:3: "},
        {R"("cpu": {"family": 18446744073709551615})", "FILE:3: 'hosts[0].cpu.family'"},
        {R"("devices": [{}, {"kind": "TPU"}])", "FILE:3: 'hosts[0].devices[1].kind'"},
        {R"("devices": [{"link": {"GTps": "fast"}}])", "FILE:3: 'hosts[0].devices[0].link.GTps'"},
        {R"("devices": [{"link": {"GTps": -8}}])", "FILE:3: 'hosts[0].devices[0].link.GTps'"},
        {R"("devices": [{"link": {"GTps": 1e999}}])", "FILE:3: the number"},
        {R"("devices": [{"above": 0}])", "FILE:3: 'hosts[0].devices[0]': above"},
        {R"("pcie_switches": [{"above": 0}])", "FILE:3: 'hosts[0].pcie_switches[0]': above"},
        {R"("links": [{"a": {"index": 1}}])", "FILE:3: 'hosts[0].links[0]': device 1"},
        {R"("links": [{"b": {"kind": "NUMA node"}}], "devices": [{}])",
         "FILE:3: 'hosts[0].links[0]': NUMA node 0"},
        {R"("packages": [{"cores": [0]}])", "FILE:3: 'hosts[0].packages[0]': cores"},
        {R"("cores": [{"threads": [65536]}])", "FILE:3: 'hosts[0].cores[0]': CPU 65536"},
        {R"("numa_nodes": [{"os_index": 3}, {"os_index": 3}])",
         "FILE:3: 'hosts[0].numa_nodes[1]': os_index 3"},
        {R"("numa_nodes": [{"os_index": 0, "memory_bytes": 1152921504606846976},
{"os_index": 1, "memory_bytes": 1}])",
         "FILE:4: 'hosts[0].numa_nodes[1]': "},
        {R"("devices": [{}, {}], "links": [{"b": {"index": 1}, "count": 1025}])",
         "FILE:3: 'hosts[0].links[0]': count is 1025"},
        {R"("name": "a", "name": "b")", "FILE:3: the field 'name'"},
        {R"("name": "a",)", "FILE:4: invalid JSON"},
        {R"("name": nul)", "FILE:3: invalid JSON"},
    };
    for (const auto& fault : faults) {
        const std::string complaint = complaint_about_host(fault.field);
        EXPECT_TRUE(complaint.starts_with(fault.complaint)) << fault.field << ": " << complaint;
        EXPECT_TRUE(names_a_line(complaint)) << complaint;
    }
    EXPECT_TRUE(complaint_about(R"({"v":1,"kind":"machine"})").starts_with("FILE:1: 'hosts'"));
    EXPECT_TRUE(
        complaint_about("{\"v\":1,\"kind\":\"machine\",\"hosts\":[{}],\n\"network\":[{\"to\":1}]}")
            .starts_with("FILE:2: 'network[0]'"));
}

// The parser reads the line end after a number: the error must not name the next line.
TEST(MachineJson, CountsLinesAfterNumbers) {
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
