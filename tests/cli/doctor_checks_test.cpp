// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "cli/doctor/checks.hpp"

namespace tutti {
namespace {

// Two ranks on a machine without any fault: two packages with two cores each.
HostCondition healthy() {
    HostCondition on;
    on.facts.cores = 4;
    on.facts.memory = Bytes{std::int64_t{16} << 30};
    on.facts.governor = "performance";
    on.settings.shared_memory = on.settings.free_shared_memory = Bytes{std::int64_t{8} << 30};
    on.settings.available_memory = Bytes{std::int64_t{16} << 30};
    on.settings.open_files = 1024;
    on.settings.huge_pages = "madvise";
    on.settings.governor_driver = "acpi-cpufreq";
    on.settings.clock_source = "tsc";
    on.settings.rdma_devices = {"mlx5_0"};
    on.settings.interfaces = {{"eth0", 100, 9000}};
    on.settings.pcie_widths = {{"0000:01:00.0", 16, 16}};
    on.host.cores = {{{0}}, {{1}}, {{2}}, {{3}}};
    on.host.numa_nodes = {{.os_index = 0, .cores = {0, 1}}, {.os_index = 1, .cores = {2, 3}}};
    on.cores_of_ranks = {{0}, {2}};
    on.has_other_hosts = true;
    on.was_tried = true;
    on.ucx_transports = {"rc_mlx5/mlx5_0:1", "sysv/memory"};
    return on;
}

// Returns the checks that have found something to change.
std::vector<std::string> found_in(const HostCondition& on) {
    std::vector<std::string> found;
    for (const HostCheck& check : checks())
        if (const auto answer = check.look(on); answer && !answer->cure.empty())
            found.emplace_back(check.name);
    return found;
}

TEST(Doctor, FindsNothingOnAHealthyHost) {
    EXPECT_EQ(found_in(healthy()), std::vector<std::string>{});
}

TEST(Doctor, NamesEachMisconfiguration) {
    struct Case {
        const char* check;
        std::function<void(HostCondition&)> damage;
    };
    const auto variable = [](const char* name, const char* value) {
        return [=](HostCondition& on) { on.environment[name] = value; };
    };
    const Case cases[] = {
        {"cores",
         [](auto& on) {
             on.cores_of_ranks = {{0}, {1}, {2}, {3}, {0}};
         }},
        {"binding",
         [](auto& on) {
             on.cores_of_ranks = {{0}, {0}};
         }},
        {"NUMA nodes",
         [](auto& on) {
             on.cores_of_ranks = {{0, 1, 2, 3}, {0, 1, 2, 3}};
         }},
        {"CPU time", [](auto& on) { on.facts.cpu_quota = 1.5; }},
        {"threads", variable("OMP_NUM_THREADS", "4")},
        {"other programs", [](auto& on) { on.facts.loadavg1 = 3.5; }},
        {"shared memory size", [](auto& on) { on.settings.shared_memory = Bytes{64 << 20}; }},
        {"shared memory size", [](auto& on) { on.settings.free_shared_memory = Bytes{1 << 20}; }},
        {"shared memory",
         [](auto& on) {
             on.has_other_hosts = false;
             on.sharing_refused = "no space";
         }},
        {"memory of peers", [](auto& on) { on.copying_refused = "refused"; }},
        {"free memory", [](auto& on) { on.settings.available_memory = Bytes{64 << 20}; }},
        {"huge pages", [](auto& on) { on.settings.huge_pages = "never"; }},
        {"governor", [](auto& on) { on.facts.governor = "powersave"; }},
        {"clock", [](auto& on) { on.settings.clock_source = "hpet"; }},
        {"NUMA balancing", [](auto& on) { on.settings.balances_numa_nodes = true; }},
        {"open files", [](auto& on) { on.settings.open_files = 72; }},
        {"locked memory", [](auto& on) { on.settings.locked_memory = 64 << 10; }},
        {"UCX", [](auto& on) { on.ucx_transports = {"tcp/eth0"}; }},
        {"UCX", [](auto& on) { on.why_no_ucx = "UCX rejects its settings"; }},
        {"UCX within a host", variable("UCX_TLS", "tcp,self")},
        {"UCX within a host", variable("UCX_TLS", "^shm")},
        {"UCX devices", variable("UCX_NET_DEVICES", "mlx5_0:1,mlx5_7:1")},
        {"Open MPI within a host", variable("OMPI_MCA_btl", "tcp,self")},
        {"Open MPI within a host", variable("OMPI_MCA_btl", "^vader")},
        {"Open MPI's single copy", variable("OMPI_MCA_btl_vader_single_copy_mechanism", "none")},
        {"MTU", [](auto& on) { on.settings.interfaces.front().mtu = 1500; }},
        {"PCIe lanes", [](auto& on) { on.settings.pcie_widths.front().lanes = 8; }},
        {"NCCL", variable("NCCL_P2P_DISABLE", "1")},
        {"NCCL", [](auto& on) { on.settings.nccl_file_lines = {"NCCL_ALGO=Ring"}; }},
    };
    for (const Case& one : cases) {
        HostCondition on = healthy();
        one.damage(on);
        EXPECT_EQ(found_in(on), std::vector<std::string>{one.check});
    }
}

TEST(Doctor, AcceptsSettingsThatDoNoHarm) {
    HostCondition on = healthy();
    on.environment = {{"OMP_NUM_THREADS", "1"},        {"UCX_TLS", "rc,shm,self"},
                      {"UCX_NET_DEVICES", "mlx5_0:1"}, {"OMPI_MCA_btl", "^openib"},
                      {"NCCL_SOCKET_IFNAME", "eth0"},  {"NCCL_P2P_DISABLE", "0"}};
    on.facts.governor = "powersave";
    on.settings.governor_driver = "intel_pstate";
    on.settings.open_files = std::nullopt;
    EXPECT_EQ(found_in(on), std::vector<std::string>{});
}

// Ranks with several cores each use them for threads.
TEST(Doctor, CountsTheCoresOfAllRanks) {
    HostCondition on = healthy();
    on.cores_of_ranks = {{0, 1}, {2, 3}};
    on.environment = {{"OMP_NUM_THREADS", "2"}};
    on.facts.cpu_quota = 2;
    EXPECT_EQ(found_in(on), std::vector<std::string>{});
    on.environment = {{"OMP_NUM_THREADS", "2000000000"}};
    EXPECT_EQ(found_in(on), std::vector<std::string>{"threads"});
}

// The environment takes precedence over the file.
TEST(Doctor, ShowsTheNcclSettingThatIsActive) {
    HostCondition on = healthy();
    on.settings.nccl_file_lines = {"NCCL_SHM_DISABLE=1"};
    on.environment = {{"NCCL_SHM_DISABLE", "0"}};
    EXPECT_EQ(found_in(on), std::vector<std::string>{});
    on.environment.clear();
    EXPECT_EQ(found_in(on), std::vector<std::string>{"NCCL"});
}

}  // namespace
}  // namespace tutti
