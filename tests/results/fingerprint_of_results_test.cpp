// SPDX-License-Identifier: Apache-2.0
// Two results files have comparable times only if their fingerprints are equal.
#include <gtest/gtest.h>

#include <functional>

#include "results/stored/fingerprint.hpp"

namespace tutti {
namespace {

// Each value differs from all others.
Results measured_somewhere() {
    Launch launch{.session = "s"};
    launch.hosts = {{.name = "h1",
                     .kernel = "6.1",
                     .cpu_model = "Fast 1",
                     .cores = 8,
                     .smt = "2",
                     .governor = "schedutil",
                     .cgroup_cpus = 3.5,
                     .virt = "kvm"}};
    launch.topo_sha256 = "0123456789abcdef";
    launch.nranks = 4;
    launch.ppn = 2;
    launch.mpi = Library{.vendor = "Open MPI", .version = "5.0"};
    launch.env = {{"UCX_TLS", "tcp"}, {"TUTTI_LIMITS", "none"}};
    Session session{.id = "s"};
    session.tool.build_type = "Release";
    session.plan = {{"sync", "deadline"}, {"seed", "1"}};
    return {.sessions = {session}, .launches = {launch}, .points = {Point{.session = "s"}}};
}

TEST(FingerprintOfResults, IsTheSameForTheSameEnvironment) {
    const Fingerprint one = fingerprint_of(measured_somewhere());
    Results other = measured_somewhere();
    other.launches[0].env["TUTTI_LIMITS"] = "stored";
    other.sessions[0].plan["seed"] = "2";
    EXPECT_TRUE(differences(one, fingerprint_of(other)).empty());
}

TEST(FingerprintOfResults, NamesTheOneFieldThatDiffers) {
    const auto host = [](auto HostRecord::*field, auto value) {
        return [=](Results& results) { results.launches[0].hosts[0].*field = value; };
    };
    const auto launch = [](auto Launch::*field, auto value) {
        return [=](Results& results) { results.launches[0].*field = value; };
    };
    const struct {
        const char* field;
        std::function<void(Results&)> change;
        const char *before, *after;
    } rows[] = {
        {"host", host(&HostRecord::name, "h2"), "h1", "h2"},
        {"cpu_model", host(&HostRecord::cpu_model, "Fast 2"), "Fast 1", "Fast 2"},
        {"cores", host(&HostRecord::cores, 6), "8", "6"},
        {"cgroup_cpus", host(&HostRecord::cgroup_cpus, 1.5), "3.5", "1.5"},
        {"smt", host(&HostRecord::smt, "1"), "2", "1"},
        {"governor", host(&HostRecord::governor, "powersave"), "schedutil", "powersave"},
        {"kernel", host(&HostRecord::kernel, "6.2"), "6.1", "6.2"},
        {"virt", host(&HostRecord::virt, "none"), "kvm", "none"},
        {"topology", launch(&Launch::topo_sha256, "fedcba9876543210"), "0123456789ab",
         "fedcba987654"},
        {"nranks", launch(&Launch::nranks, 3), "4", "3"},
        {"ppn", launch(&Launch::ppn, 1), "2", "1"},
        {"mpi", [](Results& results) { results.launches[0].mpi->version = "5.1"; }, "Open MPI 5.0",
         "Open MPI 5.1"},
        {"build_type", [](Results& results) { results.sessions[0].tool.build_type = "Debug"; },
         "Release", "Debug"},
        {"sync", [](Results& results) { results.sessions[0].plan["sync"] = "barrier"; }, "deadline",
         "barrier"},
        {"UCX_TLS", [](Results& results) { results.launches[0].env["UCX_TLS"] = "rc"; }, "tcp",
         "rc"},
    };
    const Fingerprint one = fingerprint_of(measured_somewhere());
    for (const auto& row : rows) {
        Results other = measured_somewhere();
        row.change(other);
        const auto found = differences(one, fingerprint_of(other));
        ASSERT_EQ(found.size(), 1u) << row.field;
        EXPECT_EQ(found[0].field, row.field);
        EXPECT_EQ(found[0].a, row.before) << row.field;
        EXPECT_EQ(found[0].b, row.after) << row.field;
    }
}

}  // namespace
}  // namespace tutti
