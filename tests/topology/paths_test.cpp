// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/paths.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/index.hpp"
#include "tests/topology/machines.hpp"

namespace tutti {
namespace {

struct Found {
    explicit Found(const Host& host) : graph(graph_of(host)), table(paths_of(graph)) {}
    const Path& between(int from, int to) const {
        return at(table, from)[static_cast<std::size_t>(to)];
    }
    const Path& gpus(std::size_t a, std::size_t b) const {
        return between(graph.gpus[a], graph.gpus[b]);
    }
    const Path& to_port(std::size_t gpu, std::size_t port) const {
        return between(graph.gpus[gpu], graph.ports[port]);
    }
    std::string smi(std::size_t a, std::size_t b) const {
        return smi_word(graph, graph.gpus[a], graph.gpus[b]);
    }
    HostGraph graph;
    PathTable table;
};

TEST(Paths, OfNvlinkCarryTheirLinksTogether) {
    const Found dgx1(machines::dgx1());
    EXPECT_EQ(dgx1.gpus(0, 1).type, PathType::nvl);
    EXPECT_DOUBLE_EQ(dgx1.gpus(0, 1).bandwidth_GBps, 20);
    EXPECT_DOUBLE_EQ(dgx1.gpus(0, 3).bandwidth_GBps, 40);
    EXPECT_EQ(dgx1.smi(0, 1), "NV1");
    EXPECT_EQ(dgx1.smi(0, 3), "NV2");
}

TEST(Paths, PassOneGpuAndNoMore) {
    const Found dgx1(machines::dgx1());
    EXPECT_EQ(dgx1.gpus(0, 5).type, PathType::nvb);
    EXPECT_EQ(dgx1.gpus(0, 5).hops(), 2);
    EXPECT_EQ(dgx1.smi(0, 5), "SYS");  // nvidia-smi has no NVB

    Host chain{.name = "chain", .cpu = machines::rome};
    for (int gpu = 0; gpu < 4; ++gpu) machines::add_gpu(chain, gpu / 2, machines::gen4_x16, {}, 80);
    for (int gpu = 0; gpu < 3; ++gpu) machines::join(chain, LinkKind::nvlink, gpu, gpu + 1, 4);
    const Found found(chain);
    EXPECT_EQ(found.gpus(0, 2).type, PathType::nvb);
    EXPECT_EQ(found.gpus(0, 3).type, PathType::sys);
}

TEST(Paths, ThroughNvswitchCountAsNvlink) {
    const Found h100(machines::dgx_h100());
    EXPECT_EQ(h100.gpus(0, 7).type, PathType::nvl);
    EXPECT_NEAR(h100.gpus(0, 7).bandwidth_GBps, 370.8, 1e-9);  // 18 links of 20.6
    EXPECT_EQ(h100.smi(0, 7), "NV18");
}

TEST(Paths, OfPcieAreNamedAfterWhatTheyPass) {
    const Found pcie(machines::pcie_only());
    EXPECT_EQ(pcie.gpus(0, 1).type, PathType::pix);
    EXPECT_DOUBLE_EQ(pcie.gpus(0, 1).bandwidth_GBps, 12);
    EXPECT_EQ(pcie.gpus(0, 2).type, PathType::phb);
    EXPECT_DOUBLE_EQ(pcie.gpus(0, 2).bandwidth_GBps, 12);
    EXPECT_EQ(pcie.gpus(0, 4).type, PathType::sys);
    EXPECT_DOUBLE_EQ(pcie.gpus(0, 4).bandwidth_GBps, 10);  // Skylake's sockets
    EXPECT_EQ(pcie.smi(0, 1), "PIX");
    EXPECT_EQ(pcie.smi(0, 2), "PHB");
    EXPECT_EQ(pcie.smi(0, 4), "SYS");
}

TEST(Paths, OverSeveralSwitchesArePxbUnlessTheyAreOneChip) {
    const auto with_switches = [](const std::string& pci_id) {
        Host host{.name = "cascade", .cpu = machines::sapphire_rapids};
        const int top = machines::add_switch(host, 0, machines::gen4_x16);
        for (int leaf = 0; leaf < 2; ++leaf) {
            const int below = machines::add_switch(host, 0, machines::gen5_x16, top);
            machines::add_gpu(host, 0, machines::gen5_x16, below, 90);
        }
        for (PcieSwitch& bridge : host.pcie_switches) bridge.pci_id = pci_id;
        return host;
    };
    EXPECT_EQ(Found(with_switches("10b5:9797")).gpus(0, 1).type, PathType::pxb);
    EXPECT_EQ(Found(with_switches("1000:c030")).gpus(0, 1).type, PathType::pix);
    EXPECT_DOUBLE_EQ(Found(with_switches("1000:c030")).gpus(0, 1).bandwidth_GBps,
                     48);  // not 24, the link upwards
}

TEST(Paths, KnowTheLevelsOfASwitchByItsSubsystem) {
    const auto type = [](const char* pci_id, const char* upper, const char* lower) {
        Host host{.name = "cascade", .cpu = machines::sapphire_rapids};
        const int top = machines::add_switch(host, 0, machines::gen4_x16);
        host.pcie_switches[0].subsystem_id = upper;
        for (int leaf = 0; leaf < 2; ++leaf) {
            const int below = machines::add_switch(host, 0, machines::gen4_x16, top);
            machines::add_gpu(host, 0, machines::gen4_x16, below, 80);
            host.pcie_switches.back().subsystem_id = lower;
        }
        for (PcieSwitch& bridge : host.pcie_switches) bridge.pci_id = pci_id;
        return Found(host).gpus(0, 1).type;
    };
    EXPECT_EQ(type("1000:c010", "1000:a096", "1000:a096"), PathType::pix);
    EXPECT_EQ(type("1000:c010", "1000:0072", "1000:1072"), PathType::pxb);
    EXPECT_EQ(type("1000:c030", "1000:0072", "1000:1072"), PathType::pix);
    EXPECT_EQ(type("1000:c030", "1000:a096", "1000:a096"), PathType::pxb);
    EXPECT_EQ(type("1000:c030", "1000:1072", "1000:1072"), PathType::pxb);
}

TEST(Paths, OfXgmiAreAsWideAsTheGpusLinks) {
    const auto bandwidth_GBps = [](const char* model, const char* pci_id) {
        Host host = machines::plain_gpus(2);
        for (Device& gpu : host.devices) {
            gpu.model = model;
            gpu.pci_id = pci_id;
        }
        machines::join(host, LinkKind::xgmi, 0, 1, 2);
        return Found(host).gpus(0, 1).bandwidth_GBps;
    };
    EXPECT_DOUBLE_EQ(bandwidth_GBps("gfx908", ""), 2 * 24);
    EXPECT_DOUBLE_EQ(bandwidth_GBps("", "1002:7408"), 2 * 36);  // MI250X
    EXPECT_DOUBLE_EQ(bandwidth_GBps("", ""), 2 * 48);
}

TEST(Paths, OfSeveralHostsAreOneDocument) {
    const Host host = machines::plain_gpus(2);
    const auto one = nlohmann::json::parse(paths_to_json({.hosts = {host}, .network = {}}));
    EXPECT_EQ(one.at("nodes").size(), 2u);
    const auto two = nlohmann::json::parse(paths_to_json({.hosts = {host, host}, .network = {}}));
    ASSERT_EQ(two.at("hosts").size(), 2u);
    EXPECT_EQ(two.at("hosts")[1].at("name"), "plain");
    EXPECT_EQ(two.at("hosts")[1].at("type"), one.at("type"));
}

TEST(Paths, ToADistantNicGoOverAPeerThatHasItNear) {
    const Found h100(machines::dgx_h100());
    EXPECT_EQ(h100.to_port(0, 0).type, PathType::pix);
    EXPECT_DOUBLE_EQ(h100.to_port(0, 0).bandwidth_GBps, 48);  // PCIe; the port has 50
    EXPECT_EQ(h100.to_port(0, 7).type, PathType::pxn);
    EXPECT_DOUBLE_EQ(h100.to_port(0, 7).bandwidth_GBps, 48);
    const Found pcie = [] {
        Host host = machines::pcie_only();
        machines::add_nic(host, 1, machines::gen3_x16, 3, 100);
        return Found(host);
    }();
    EXPECT_EQ(pcie.to_port(0, 0).type, PathType::sys);  // no NVLink to the peer
    EXPECT_EQ(pcie.to_port(6, 0).type, PathType::pix);
}

TEST(Paths, FromChipToChipAndOnByPcieAreP2c) {
    Host host{.name = "grace", .cpu = {"aarch64", "ARM", 0, 0}};
    for (int chip = 0; chip < 2; ++chip) {
        const int gpu = machines::add_gpu(host, chip, {32, 1}, {}, 90);
        host.links.push_back({.kind = LinkKind::c2c,
                              .a = machines::device(gpu),
                              .b = {LinkEnd::Kind::numa_node, chip},
                              .bandwidth_GBps = 450});
    }
    machines::add_nic(host, 0, machines::gen5_x16, {}, 400);
    const Found grace(host);
    EXPECT_EQ(grace.to_port(0, 0).type, PathType::p2c);
    EXPECT_DOUBLE_EQ(grace.to_port(0, 0).bandwidth_GBps, 48);
    EXPECT_EQ(grace.gpus(0, 1).type, PathType::sys);
}

TEST(Paths, ToItselfPassNothing) {
    const Found one(machines::plain_gpus(1));
    EXPECT_EQ(one.gpus(0, 0).type, PathType::loc);
    EXPECT_EQ(one.gpus(0, 0).hops(), 0);
}

}  // namespace
}  // namespace tutti
