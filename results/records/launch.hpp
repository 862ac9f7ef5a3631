// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "base/units.hpp"
#include "results/records/health.hpp"

namespace tutti {

using TextByName = std::map<std::string, std::string>;

/// One machine of a launch, as far as it could be found out; what is unknown stays empty or 0.
struct HostRecord {
    std::string name;
    std::string boot_id;
    std::string kernel;
    std::string cpu_model;
    int sockets = 0;
    int cores = 0;
    std::string smt;
    std::string governor;
    std::string turbo;
    Bytes mem;
    double cgroup_cpus = 0;  // limit of the container; 0: no limit
    std::string virt;        // hypervisor; empty on bare metal
    double loadavg1 = 0;
    std::string topo_sha256;

    bool operator==(const HostRecord&) const = default;
};

/// Where one rank lives.
struct RankPlace {
    Rank rank;
    std::string host;
    std::int64_t pid = 0;
    std::string cpuset;
    std::optional<int> numa;
    std::string gpu_uuid;

    bool operator==(const RankPlace&) const = default;
};

/// A library that was linked and the settings it was given.
struct Library {
    std::string vendor;
    std::string version;
    TextByName settings;  // MCA parameters, UCX_*, NCCL_*

    bool operator==(const Library&) const = default;
};

struct Cuda {
    std::string driver;
    std::string runtime;

    bool operator==(const Cuda&) const = default;
};

struct Gpu {
    std::string model;
    std::string uuid;

    bool operator==(const Gpu&) const = default;
};

/// How far the hosts' clocks agree; only of several hosts. Lists are in the order of the hosts.
struct ClockSync {
    std::string mode;                          // "ping-pong": see workloads/timing/global_clock.hpp
    std::vector<std::int64_t> offset_ns = {};  // each host's clock less the first host's
    std::vector<double> drift_ppm = {};        // how much faster it runs
    std::int64_t reach_ns = 0;  // offsets are no further from the truth, whatever the network does
    std::int64_t residual_ns =
        0;  // the largest distance found by pings that had no part in the fit

    bool operator==(const ClockSync&) const = default;
};

/// One start of the ranks (one mpirun): the unit of repetition.
struct Launch {
    std::string session;
    int launch = 1;
    std::string t;  // RFC 3339, UTC
    std::vector<std::string> argv;
    int nranks = 1;
    int ppn = 1;
    std::vector<HostRecord> hosts;
    std::string topo_sha256;  // the fingerprint of all hosts together
    std::vector<RankPlace> ranks;
    std::optional<Library> mpi;
    std::optional<Library> ucx;
    std::optional<Library> nccl;
    std::optional<Cuda> cuda;
    std::vector<Gpu> gpus;
    TextByName env;  // see stored_environment
    std::optional<ClockSync> clock;
    std::vector<HostHealth> health;  // at the start of the launch

    bool operator==(const Launch&) const = default;
};

/// Whether all ranks were threads of one process, as far as is known.
bool is_one_process(const Launch& launch);

/// Whether a variable may be stored: it steers MPI, UCX, NCCL, CUDA, OpenMP, Slurm or tutti, and
/// its name does not hint at a secret. Results get published; a whole environment would leak
/// tokens.
bool may_be_stored(std::string_view name);

/// Returns the storable part of an environment such as `environ` ("NAME=value" strings, ended by a
/// null).
TextByName stored_environment(const char* const* variables);

}  // namespace tutti
