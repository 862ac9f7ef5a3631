// SPDX-License-Identifier: Apache-2.0
#include "cli/provenance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "base/hashes.hpp"
#include "base/index.hpp"
#include "cli/build_info.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/host_processes.hpp"
#include "results/records/identity.hpp"
#include "results/records/launch.hpp"
#include "results/tables/cautions.hpp"
#include "topology/detect/detect.hpp"
#include "topology/machine/fingerprint.hpp"

namespace tutti {

HostRecord record_of(const HostFacts& facts, std::string topology) {
    return {.name = facts.name,
            .boot_id = facts.boot_id,
            .kernel = facts.kernel,
            .cpu_model = facts.cpu_model,
            .sockets = facts.sockets,
            .cores = facts.cores,
            .smt = std::to_string(facts.smt),
            .governor = facts.governor,
            .turbo = facts.turbo,
            .mem = facts.memory,
            .cgroup_cpus = facts.cpu_quota.value_or(0),
            .virt = facts.container.empty() ? facts.virtualisation
                                            : facts.virtualisation + " " + facts.container,
            .loadavg1 = facts.loadavg1,
            .topo_sha256 = std::move(topology)};
}

namespace {

constexpr const char* other_nccl_setting = "other";

// Adds the GPUs of this host and their software to the record. NCCL's settings are those of the
// launch's environment.
void add_gpus(Launch& launch) {
    const auto here = gpus();
    if (here.empty()) return;
    for (const GpuFacts& gpu : here) launch.gpus.push_back({.model = gpu.model, .uuid = gpu.uuid});
    launch.cuda = Cuda{.driver = gpu_driver_release(), .runtime = cuda_runtime_version()};
    if (nccl_missing()) return;
    launch.nccl = Library{.vendor = "NCCL", .version = nccl_version(), .settings = {}};
    for (const auto& [name, value] : stored_environment(environ))
        if (name.starts_with("NCCL_")) launch.nccl->settings.emplace(name, value);
    if (const auto other = describe_other_nccl(); !other.empty())
        launch.nccl->settings.emplace(other_nccl_setting, other);
}

// Returns ", NCCL 2.28.9, nccl-other 2.31.2, libnccl.so.2".
std::string describe_nccl(const Library& nccl) {
    const auto other = nccl.settings.find(other_nccl_setting);
    return fmt::format(", NCCL {}{}{}", nccl.version,
                       other == nccl.settings.end() ? "" : ", nccl-other ",
                       other == nccl.settings.end() ? "" : other->second);
}

// Returns the GPU that this rank would use; empty if there is none.
std::string gpu_uuid_of(World& world) {
    const auto here = gpus();
    return here.empty() ? "" : at(here, gpu_number(world)).uuid;
}

std::string describe_driver() {
    const std::string release = gpu_driver_release();
    if (release.empty()) return "no driver";
    return fmt::format("driver {} (up to CUDA {})", release, cuda_driver_version());
}

// Gathers all hosts. Each is sent as the record of a launch with only this host and its GPUs.
void describe_hosts(World& world, Launch& all) {
    Launch of_this_host;
    if (world.is_leader()) {
        of_this_host.hosts.push_back(record_of(host_facts(), fingerprint(detect_host())));
        add_gpus(of_this_host);
    }
    for (const auto& text : gather_all_texts(world, to_json_line(of_this_host))) {
        const Launch launch = std::get<Launch>(parse_json_line(text));
        all.hosts.insert(all.hosts.end(), launch.hosts.begin(), launch.hosts.end());
        all.gpus.insert(all.gpus.end(), launch.gpus.begin(), launch.gpus.end());
        if (!all.cuda) all.cuda = launch.cuda;
        if (!all.nccl) all.nccl = launch.nccl;
    }
}

std::vector<RankPlace> places_of_all(World& world) {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    const auto names = gather_all_texts(world, name);
    const auto cpus = usable_cpus_of_ranks(world);
    const auto processes = gather_all(world, getpid());
    const auto gpus = gather_all_texts(world, gpu_uuid_of(world));
    std::vector<RankPlace> places;
    for (int rank = 0; rank < world.size(); ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        places.push_back(
            {.rank = Rank{rank}, .host = names[i], .pid = processes[i], .cpuset = cpus[i]});
        places.back().gpu_uuid = gpus[i];
    }
    return places;
}

// Returns for example "1.5 s, -3.2e+04 s".
std::string format_offsets(const std::vector<std::int64_t>& offsets_ns) {
    std::string text;
    for (std::size_t host = 1; host < offsets_ns.size(); ++host)
        text += fmt::format("{}{:.6f} s", host > 1 ? ", " : "",
                            static_cast<double>(offsets_ns[host]) * 1e-9);
    return text;
}

}  // namespace

Session describe_session(World& world, const RunOptions& run, std::uint64_t seed) {
    Session session;
    session.id = gather_all_texts(world, world.is_first() ? new_session_id() : "").front();
    session.t = utc_now();
    session.tool = this_tool();
    session.argv = run.plan.typed;
    session.argv.insert(session.argv.begin(), {"tutti", run.plan.command});
    session.cwd = std::filesystem::current_path();
    session.seed = seed;
    session.plan = run.plan.values;
    if (run.resumed) session.resume_of = run.resumed->session.id;
    std::string text;
    for (const auto& [name, value] : session.plan) text += name + "=" + value + "\n";
    session.plan_sha256 = sha256(text);
    return session;
}

Launch describe_launch(World& world, const std::string& session) {
    Launch launch;
    launch.session = session;
    launch.t = utc_now();
    launch.nranks = world.size();
    launch.ppn = static_cast<int>(world.hosts().nodes().front().size());
    describe_hosts(world, launch);
    std::vector<std::string> fingerprints;
    for (const HostRecord& host : launch.hosts) fingerprints.push_back(host.topo_sha256);
    launch.topo_sha256 = fingerprint_of_hosts(fingerprints);
    launch.ranks = places_of_all(world);
    launch.env = stored_environment(environ);
    if (world.kind() == "mpi") {
        const std::string library = mpi_library();
        const auto space = library.rfind(' ');
        launch.mpi =
            Library{.vendor = library.substr(0, space), .version = library.substr(space + 1)};
    }
    return launch;
}

std::string describe(const Tool& tool) {
    return "tutti " + tool.version +
           (tool.git.empty() ? "" : " (" + tool.git + (tool.dirty ? ", changed)" : ")"));
}

std::vector<std::string> head_notes(const Tool& tool, const Launch& launch) {
    std::vector<std::string> notes{describe(tool)};
    const std::string kind = launch.mpi
                                 ? "processes of " + launch.mpi->vendor + " " + launch.mpi->version
                             : is_one_process(launch) ? "threads of one process"
                                                      : "processes of a rendezvous";
    notes.push_back(
        fmt::format("{} {}, {}", launch.nranks, launch.nranks == 1 ? "rank" : "ranks", kind));
    for (const HostRecord& host : launch.hosts)
        notes.push_back(fmt::format("host {}: {}, {} cores, {}{}", host.name, host.cpu_model,
                                    host.cores, host.kernel,
                                    host.virt.empty() ? "" : ", virtual (" + host.virt + ")"));
    if (launch.cuda && !launch.gpus.empty())
        notes.push_back(fmt::format("GPUs: {} x {}, driver {}, CUDA {}{}", launch.gpus.size(),
                                    launch.gpus.front().model, launch.cuda->driver,
                                    launch.cuda->runtime,
                                    launch.nccl ? describe_nccl(*launch.nccl) : ""));
    if (launch.clock)
        notes.push_back(
            fmt::format("clocks of {} hosts: ahead of the first one's by {}; residual {:.1f} us",
                        launch.hosts.size(), format_offsets(launch.clock->offset_ns),
                        static_cast<double>(launch.clock->residual_ns) * 1e-3));
    for (const std::string& caution : cautions(std::span(&launch, 1))) notes.push_back(caution);
    return notes;
}

std::string version_text() {
    const Tool tool = this_tool();
    return fmt::format("tutti {}\ncommit {}{}\nbuilt by {}, {}\nMPI {}\nUCX {}\nCUDA {}, NCCL {}\n",
                       tool.version, tool.git.empty() ? "unknown" : tool.git,
                       tool.dirty ? ", with changes" : "", tool.compiler, tool.build_type,
                       mpi_library(), ucx_version(), cuda_runtime_version(), nccl_version());
}

std::vector<std::string> describe_gpus() {
    std::vector<std::string> lines;
    if (!cuda_not_built())
        lines.push_back(fmt::format("CUDA {}, {}, NCCL {}", cuda_runtime_version(),
                                    describe_driver(), nccl_version()));
    if (const auto missing = gpus_missing()) lines.push_back(*missing);
    int number = 0;
    for (const GpuFacts& gpu : gpus())
        lines.push_back(fmt::format("GPU {}: {}, {}, {} multiprocessors, {} bytes", number++,
                                    gpu.model, gpu.address, gpu.multiprocessors,
                                    to_string(gpu.memory)));
    return lines;
}

}  // namespace tutti
