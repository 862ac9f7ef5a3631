// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_reader.hpp"
#include "base/json_schema.hpp"
#include "base/json_writer.hpp"
#include "results/records/record.hpp"

// Fields of what is known of a session and a launch: see record_fields.hpp.
namespace tutti {

void walk(auto& f, Is<Tool> auto& tool) {
    f.must("version", tool.version);
    f.may("git", tool.git);
    f.may("dirty", tool.dirty);
    f.may("build_type", tool.build_type);
    f.may("compiler", tool.compiler);
    f.may("flags", tool.flags);
}

void walk(auto& f, Is<Session> auto& session) {
    f.must("id", session.id);
    f.must("t", session.t);
    f.must("tool", session.tool);
    f.must("argv", session.argv);
    f.may("cwd", session.cwd);
    f.must("seed", session.seed);
    f.may("plan_sha256", session.plan_sha256);
    f.may("plan", session.plan);
    f.may("resume_of", session.resume_of);
}

void walk(auto& f, Is<HostRecord> auto& host) {
    f.must("name", host.name);
    f.may("boot_id", host.boot_id);
    f.may("kernel", host.kernel);
    f.may("cpu_model", host.cpu_model);
    f.may("sockets", host.sockets);
    f.may("cores", host.cores);
    f.may("smt", host.smt);
    f.may("governor", host.governor);
    f.may("turbo", host.turbo);
    f.may("mem_bytes", host.mem);
    f.may("cgroup_cpus", host.cgroup_cpus);
    f.may("virt", host.virt);
    f.may("loadavg1", host.loadavg1);
    f.may("topo_sha256", host.topo_sha256);
}

void walk(auto& f, Is<RankPlace> auto& place) {
    f.must("rank", place.rank);
    f.must("host", place.host);
    f.may("pid", place.pid);
    f.may("cpuset", place.cpuset);
    f.may("numa", place.numa);
    f.may("gpu_uuid", place.gpu_uuid);
}

void walk(auto& f, Is<Library> auto& library) {
    f.may("vendor", library.vendor);
    f.must("version", library.version);
    f.may("settings", library.settings);
}

void walk(auto& f, Is<Cuda> auto& cuda) {
    f.must("driver", cuda.driver);
    f.must("runtime", cuda.runtime);
}

void walk(auto& f, Is<Gpu> auto& gpu) {
    f.must("model", gpu.model);
    f.may("uuid", gpu.uuid);
}

void walk(auto& f, Is<ClockSync> auto& clock) {
    f.must("mode", clock.mode);
    f.may("offset_ns", clock.offset_ns);
    f.may("drift_ppm", clock.drift_ppm);
    f.may("reach_ns", clock.reach_ns);
    f.must("residual_ns", clock.residual_ns);
}

void walk(auto& f, Is<HealthReading> auto& reading) {
    f.must("name", reading.name);
    f.must("value", reading.value);
    f.may("of", reading.of);
    f.may("wrong", reading.wrong);
}

void walk(auto& f, Is<HostHealth> auto& health) {
    f.must("host", health.host);
    f.must("readings", health.readings);
}

void walk(auto& f, Is<Launch> auto& launch) {
    f.may("session", launch.session);
    f.must("launch", launch.launch);
    f.must("t", launch.t);
    f.may("argv", launch.argv);
    f.must("nranks", launch.nranks);
    f.must("ppn", launch.ppn);
    f.may("hosts", launch.hosts);
    f.may("topo_sha256", launch.topo_sha256);
    f.may("ranks", launch.ranks);
    f.may("mpi", launch.mpi);
    f.may("ucx", launch.ucx);
    f.may("nccl", launch.nccl);
    f.may("cuda", launch.cuda);
    f.may("gpus", launch.gpus);
    f.may("env", launch.env);
    f.may("clock", launch.clock);
    f.may("health", launch.health);
}

}  // namespace tutti
