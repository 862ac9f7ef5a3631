// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/nvml.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/topology/fixture_tree.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// See fake_nvml.cpp.
const std::filesystem::path driver = FAKE_NVML_LIBRARY, old_driver = FAKE_OLD_NVML_LIBRARY;

Host described(const std::string& description, Host host = {},
               const std::filesystem::path& library = driver) {
    const FixtureTree tree;
    tree.write("machine", description);
    setenv("FAKE_NVML", (tree.root() / "machine").c_str(), /*overwrite=*/1);
    return with_nvidia_driver(std::move(host), library, tree.root());
}

std::string gpu_address(int gpu) { return "0000:" + std::to_string(10 + gpu) + ":00.0"; }

std::string gpu_lines(int count, const std::string& kind) {
    std::string text;
    for (int gpu = 0; gpu < count; ++gpu) text += "gpu 0000" + gpu_address(gpu) + " " + kind + "\n";
    return text;
}

std::string links_line(int gpu, int count, const std::string& address, int megabytes) {
    return "links " + std::to_string(gpu) + " " + std::to_string(count) + " " + address + " " +
           std::to_string(megabytes) + "\n";
}

// Four GPUs as one half of a DGX-1 with V100: of the six pairs two have two links, the others one.
std::string half_a_dgx1() {
    std::string text = gpu_lines(4, "1db110de 7 0 Tesla V100-SXM2-16GB");
    const auto join = [&](int a, int b, int count) {
        text += links_line(a, count, "0000" + gpu_address(b), 25781);
        text += links_line(b, count, "0000" + gpu_address(a), 25781);
    };
    join(0, 1, 1), join(0, 2, 1), join(0, 3, 2), join(1, 2, 2), join(1, 3, 1), join(2, 3, 1);
    return text;
}

LinkEnd gpu_end(int index) { return {LinkEnd::Kind::device, index}; }

const Link* find_link(const Host& host, LinkEnd a, LinkEnd b) {
    const auto found = std::ranges::find_if(
        host.links, [&](const Link& link) { return link.a == a && link.b == b; });
    return found == host.links.end() ? nullptr : &*found;
}

bool mentions(const Host& host, const std::string& words) {
    return std::ranges::any_of(host.not_seen, [&](const std::string& note) {
        return note.find(words) != std::string::npos;
    });
}

}  // namespace

TEST(Nvml, WithoutADriverNothingChanges) {
    EXPECT_EQ(described("", Host{.name = "a"}, "/no/such/library.so.1"), Host{.name = "a"});
}

TEST(Nvml, WithoutADriverAnNvidiaGpuOnTheBusIsNoted) {
    const Host bus{.devices = {{DeviceKind::gpu, "0000:10:00.0", "10de:2330"}}};
    EXPECT_TRUE(mentions(described("", bus, "/no/such/libnvidia-ml.so.1"), "libnvidia-ml.so.1"));
    EXPECT_TRUE(mentions(described("fails nvmlInit_v2", bus), "NVML error 999"));
}

TEST(Nvml, ReadsModelsAndPcieOfGpus) {
    const Host bus{.devices = {{DeviceKind::gpu, "0000:10:00.0", "10de:2330"}}};
    const Host host = described(gpu_lines(2, "233010de 9 0 NVIDIA H100 80GB HBM3"), bus);
    ASSERT_EQ(host.devices.size(), 2u);  // the first is on the bus
    EXPECT_EQ(host.devices[0].model, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(host.devices[0].compute_capability, 90);
    EXPECT_EQ(host.devices[1].pci_address, gpu_address(1));
    EXPECT_EQ(host.devices[1].pci_id, "10de:2330");
    EXPECT_EQ(host.devices[1].link, (PcieLink{32, 16}));
    EXPECT_TRUE(host.links.empty());
    EXPECT_TRUE(host.not_seen.empty());
}

TEST(Nvml, KeepsThePcieLinkThatTheBusReports) {
    Host bus{.devices = {{DeviceKind::gpu, gpu_address(0), "10de:2330"}}};
    bus.devices[0].link = {16, 8};
    EXPECT_EQ(described(gpu_lines(1, "233010de 9 0 H100"), bus).devices[0].link, (PcieLink{16, 8}));
}

TEST(Nvml, FindsADirectMeshWithEachLinkOnce) {
    const Host host = described(half_a_dgx1());
    ASSERT_EQ(host.links.size(), 6u);
    const Link* const wide = find_link(host, gpu_end(0), gpu_end(3));
    ASSERT_NE(wide, nullptr);
    EXPECT_EQ(wide->kind, LinkKind::nvlink);
    EXPECT_EQ(wide->count, 2);
    EXPECT_DOUBLE_EQ(wide->bandwidth_GBps, 40);
    int links_of_all = 0;
    for (const Link& link : host.links) links_of_all += link.count;
    EXPECT_EQ(links_of_all, 8);
    EXPECT_TRUE(host.no_peer_access.empty());
}

TEST(Nvml, FindsNvswitches) {
    Host bus;
    std::string text = gpu_lines(8, "233010de 9 0 NVIDIA H100 80GB HBM3");
    for (int nvswitch = 0; nvswitch < 4; ++nvswitch) {
        const std::string address = "0000:0" + std::to_string(nvswitch + 1) + ":00.0";
        bus.devices.push_back({DeviceKind::nvswitch, address, "10de:22a3"});
        const int count = nvswitch < 2 ? 4 : 5;
        for (int gpu = 0; gpu < 8; ++gpu) text += links_line(gpu, count, "0000" + address, 26562);
    }
    const Host host = described(text, bus);
    EXPECT_EQ(host.devices.size(), 12u);
    EXPECT_EQ(host.links.size(), 32u);
    for (int gpu = 4; gpu < 12; ++gpu) {
        double bandwidth_GBps = 0;
        int count = 0;
        for (const Link& link : host.links)
            if (link.a == gpu_end(gpu)) count += link.count, bandwidth_GBps += link.bandwidth_GBps;
        EXPECT_EQ(count, 18);
        EXPECT_NEAR(bandwidth_GBps, 370.8, 1e-9);
    }
}

TEST(Nvml, TakesSwitchesThatAVirtualMachineHidesAsOne) {
    std::string text = gpu_lines(2, "20b010de 8 0 NVIDIA A100-SXM4-40GB");
    for (int gpu = 0; gpu < 2; ++gpu) text += links_line(gpu, 12, "fffffff:ffff:ff", 25000);
    const Host host = described(text);
    ASSERT_EQ(host.devices.size(), 3u);
    EXPECT_EQ(host.devices[2].kind, DeviceKind::nvswitch);
    ASSERT_EQ(host.links.size(), 2u);
    EXPECT_EQ(host.links[1].b, gpu_end(2));
    EXPECT_EQ(host.links[1].count, 12);
    EXPECT_TRUE(host.not_seen.empty());
}

TEST(Nvml, NotesAssumedEndsOfLinks) {
    const Host host =
        described(gpu_lines(1, "20b010de 8 0 A100") + links_line(0, 4, "00000000:c5:00.0", 25000));
    EXPECT_TRUE(mentions(host, "ends of some NVLinks"));
}

TEST(Nvml, FindsLinksToProcessors) {
    const FixtureTree tree;
    tree.write("machine",
               gpu_lines(1, "1db110de 7 0 V100") + links_line(0, 3, "00000004:00:00.0", 25781));
    tree.write("sys/bus/pci/devices/0004:00:00.0/class", "0x068001");
    setenv("FAKE_NVML", (tree.root() / "machine").c_str(), 1);
    const Host bus{.devices = {{DeviceKind::gpu, gpu_address(0), "10de:1db1", {}, 8}}};
    const Host host = with_nvidia_driver(bus, driver, tree.root());
    EXPECT_EQ(host.links,
              (std::vector<Link>{
                  {LinkKind::nvlink, gpu_end(0), {LinkEnd::Kind::numa_node, 8}, 3, 60, 0}}));
}

TEST(Nvml, FindsC2c) {
    const Host bus{.devices = {{DeviceKind::gpu, gpu_address(0), "10de:2342", {}, 0}}};
    const Host host = described(gpu_lines(1, "234210de 9 0 GH200") + "c2c 0 10 45000", bus);
    EXPECT_EQ(host.links,
              (std::vector<Link>{
                  {LinkKind::c2c, gpu_end(0), {LinkEnd::Kind::numa_node, 0}, 10, 450, 0}}));
}

TEST(Nvml, ALinkThatRunsSlowlyCountsLess) {
    const Host host = described(gpu_lines(2, "20b010de 8 0 A100") +
                                links_line(0, 1, "0000" + gpu_address(1), 10000));
    ASSERT_EQ(host.links.size(), 1u);
    EXPECT_DOUBLE_EQ(host.links[0].bandwidth_GBps, 9);
}

TEST(Nvml, NamesGpusThatCannotReachEachOther) {
    const Host host = described(gpu_lines(3, "268410de 8 9 GeForce") + "unreachable 0 2");
    EXPECT_EQ(host.no_peer_access, (std::vector<NoPeerAccess>{{0, 2}}));
    const Host unsure = described(gpu_lines(3, "268410de 8 9 GeForce") + "unasked 0 2");
    EXPECT_TRUE(unsure.no_peer_access.empty());  // the driver does not know
}

TEST(Nvml, NotesGpusWithMigInstances) {
    const Host host = described(gpu_lines(2, "20b010de 8 0 A100") + "mig 1");
    EXPECT_TRUE(mentions(host, gpu_address(1)));
    EXPECT_TRUE(mentions(host, "MIG"));
    EXPECT_FALSE(mentions(host, gpu_address(0)));
}

TEST(Nvml, AnOldDriverLacksFunctionsButNotLinks) {
    const Host host = described(half_a_dgx1() + "unreachable 0 1", {}, old_driver);
    EXPECT_EQ(host.links.size(), 6u);
    EXPECT_DOUBLE_EQ(find_link(host, gpu_end(1), gpu_end(2))->bandwidth_GBps, 40);
    EXPECT_TRUE(host.no_peer_access.empty());
}

TEST(Nvml, FunctionsThatFailLeaveTheirPartOut) {
    const std::string text = half_a_dgx1();
    EXPECT_TRUE(described(text + "fails nvmlDeviceGetCount_v2").devices.empty());
    EXPECT_TRUE(described(text + "fails nvmlDeviceGetNvLinkRemotePciInfo_v2").links.empty());
    EXPECT_TRUE(described(text + "fails nvmlDeviceGetNvLinkCapability").links.empty());
    EXPECT_EQ(described(text + "fails nvmlDeviceGetFieldValues").links.size(), 6u);
    const Host unnamed = described(text + "fails nvmlDeviceGetName");
    EXPECT_EQ(unnamed.devices[0].model, "");
    EXPECT_EQ(unnamed.devices[0].compute_capability, 70);
    EXPECT_EQ(described(text + "fails nvmlDeviceGetMaxPcieLinkWidth").devices[0].link,
              (PcieLink{32, 0}));
}

TEST(Nvml, SaysThatAGpuDoesNotAnswer) {
    const Host host = described(half_a_dgx1() + "deaf 3");
    EXPECT_TRUE(mentions(host, "1 of 4 GPUs"));
    EXPECT_EQ(std::ranges::count(host.devices, 70, &Device::compute_capability), 3);
}

}  // namespace tutti
