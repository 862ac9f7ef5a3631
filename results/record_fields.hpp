// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "base/json_reader.hpp"
#include "base/json_schema.hpp"
#include "base/json_writer.hpp"
#include "results/record.hpp"

// The fields of each record in JSON (see Is). `may` fields are left out while they say nothing
// (empty, 0, none, or the default), so a field added later changes no old line and no point id.
namespace tutti {

// nccl-tests' words for "does not apply here".
inline Json encode(const std::optional<Op>& op) { return op ? encode(*op) : Json("none"); }
inline Json encode(const std::optional<Rank>& root) { return root ? encode(*root) : Json(-1); }
inline void decode(const JsonPlace& place, std::optional<Op>& op) {
    if (place.text() != "none") decode(place, op.emplace());
}
inline void decode(const JsonPlace& place, std::optional<Rank>& root) {
    if (place.whole_number<int>() != -1) decode(place, root.emplace());
}

inline Json schema_of(const std::optional<Op>&) {
    Json schema = schema_of(Op{});
    schema["enum"].push_back("none");
    return schema;
}
inline Json schema_of(const std::optional<Rank>&) { return schema_of(Rank{}); }

inline Json encode(const std::map<Rank, std::int64_t>& count_by_rank) {
    Json object = Json::object();
    for (const auto& [rank, count] : count_by_rank) object[std::to_string(rank.index)] = count;
    return object;
}
inline void decode(const JsonPlace& place, std::map<Rank, std::int64_t>& count_by_rank) {
    for (const JsonField& field : place.object()) {
        const auto rank = decimal_number(field.name);
        if (!rank || !std::in_range<int>(*rank)) place.child(field).fail("is no rank");
        decode(place.child(field), count_by_rank[{static_cast<int>(*rank)}]);
    }
}

inline Json schema_of(const std::map<Rank, std::int64_t>&) {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^[0-9]+$"}}},
            {"additionalProperties", schema_of(std::int64_t{})}};
}

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
    f.may("lib_sha256", library.lib_sha256);
    f.may("settings", library.settings);
}

void walk(auto& f, Is<Cuda> auto& cuda) {
    f.must("driver", cuda.driver);
    f.must("runtime", cuda.runtime);
}

void walk(auto& f, Is<Gpu> auto& gpu) {
    f.must("model", gpu.model);
    f.may("uuid", gpu.uuid);
    f.may("clocks", gpu.clocks);
    f.may("persistence", gpu.persistence);
    f.may("mig", gpu.mig);
}

void walk(auto& f, Is<NetworkPort> auto& port) {
    f.must("if", port.name);
    f.may("driver", port.driver);
    f.may("speed", port.speed);
    f.may("mtu", port.mtu);
}

void walk(auto& f, Is<ClockSync> auto& clock) {
    f.must("mode", clock.mode);
    f.may("offset_ns", clock.offset_ns);
    f.may("drift_ppm", clock.drift_ppm);
    f.may("reach_ns", clock.reach_ns);
    f.must("residual_ns", clock.residual_ns);
}

void walk(auto& f, Is<Probe> auto& probe) {
    f.must("pingpong_ns", probe.pingpong_ns);
    f.must("copy64k_ns", probe.copy64k_ns);
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
    f.may("net", launch.net);
    f.may("env", launch.env);
    f.may("clock", launch.clock);
    f.may("probe", launch.probe);
    f.may("health", launch.health);
}

void walk(auto& f, const Knob& knob, Is<Configuration> auto& configuration) {
    knob.visit(configuration,
               [&](auto& value, const auto& otherwise) { f.may(knob.key_name, value, otherwise); });
}

// Ids of points are made of the fields in this order.
void walk(auto& f, Is<Key> auto& key) {
    f.must("coll", key.coll);
    f.must("impl", key.configuration.impl);
    f.must("algo", key.configuration.algorithm);
    f.must("transport", key.configuration.transport);
    f.must("dtype", key.dtype);
    f.must("op", key.op);
    f.must("root", key.root);
    f.must("count", key.count);
    f.must("bytes", key.bytes);
    f.must("inplace", key.inplace);
    f.must("buf", key.buf);
    f.must("nranks", key.nranks);
    f.must("ppn", key.ppn);
    walk(f, knobs.front(), key.configuration);
    f.may("placement", key.placement);
    f.may("input", key.input);
    f.may("order", key.configuration.order);
    for (const Knob& knob : std::span(knobs).subspan(1)) walk(f, knob, key.configuration);
}

void walk(auto& f, Is<Summary> auto& time) {
    f.must("min", time.min);
    f.must("p05", time.p05);
    f.must("p25", time.p25);
    f.must("p50", time.p50);
    f.must("p75", time.p75);
    f.must("p95", time.p95);
    f.must("p99", time.p99);
    f.must("max", time.max);
    f.must("mean", time.mean);
    f.must("sd", time.sd);
}

void walk(auto& f, Is<Check> auto& check) {
    f.must("state", check.state);
    f.must("n_wrong", check.n_wrong);
    f.may("max_ulp", check.max_ulp);
}

void walk(auto& f, Is<NetworkBytes::Interface> auto& interface) {
    f.must("if", interface.name);
    f.must("tx_bytes_per_call", interface.tx_per_call);
    f.must("rx_bytes_per_call", interface.rx_per_call);
}

void walk(auto& f, Is<NetworkBytes> auto& wire) {
    f.must("host", wire.host);
    f.must("tx_bytes_per_call", wire.tx_per_call);
    f.must("rx_bytes_per_call", wire.rx_per_call);
    f.may("interfaces", wire.interfaces);
}

void walk(auto& f, Is<Power> auto& power) {
    f.must("host", power.host);
    f.must("meter", power.meter);
    f.must("W", power.watts);
}

void walk(auto& f, Is<Point> auto& point) {
    f.may("session", point.session);
    f.must("launch", point.launch);
    f.must("key", point.key);
    f.may("skipped", point.skipped);
    if (point.skipped) return;
    auto& measured = point.measured;
    f.must("mode", measured.start);
    f.must("def", measured.from);
    f.must("n", point.time.n);
    f.must("n_invalid", measured.n_invalid);
    f.must("n_warm", measured.n_warm);
    f.may("calls_of_sample", measured.calls_of_sample, std::int64_t{1});
    f.must("stop_reason", measured.stop_reason);
    f.must("t_ns", point.time);
    f.interval("ci95_p50_ns", point.time.ci95_lo, point.time.ci95_hi);
    f.must("rho1", point.time.rho1);
    f.must("n_slow", point.time.n_slow);
    f.may("skew_p50_ns", measured.skew_p50_ns);
    f.may("device_p50_ns", measured.device_p50_ns);
    f.may("clock_residual_ns", measured.clock_residual_ns);
    f.may("straggler", measured.stragglers);
    f.must("algbw_GBps", point.bandwidth.algbw);
    f.must("busbw_GBps", point.bandwidth.busbw);
    f.must("check", measured.check);
    f.may("wire", measured.network_bytes);
    f.may("energy_J", measured.energy_J);
    f.may("gpu_energy_J", measured.gpu_energy_J);
    f.may("power", measured.power);
    f.may("limit_ns", point.limit_ns);
    f.may("pct_of_limit", point.pct_of_limit);
    f.may("predicted_ns", point.predicted_ns);
    f.may("choice", point.choice);
    f.may("samples_ns", measured.samples);
}

void walk(auto& f, Is<NumericsOfDraw> auto& numerics) {
    f.must("data", numerics.draw);
    f.may("max_ulp", numerics.max_ulp);
    f.may("ranks_agree", numerics.ranks_agree);
    f.must("runs_agree", numerics.runs_agree);
    f.must("checksum", numerics.checksum);
}

void walk(auto& f, Is<Numerics> auto& numerics) {
    f.may("session", numerics.session);
    f.must("launch", numerics.launch);
    f.must("key", numerics.key);
    f.must("elements", numerics.elements);
    f.must("of", numerics.of);
}

void walk(auto& f, Is<StepKey> auto& key) {
    f.must("workload", key.workload);
    f.must("model", key.model);
    f.may("compute", key.compute);
    f.may("buffers", key.buffers);
    f.may("settings", key.settings);
    f.may("placement", key.placement);
    f.must("way", key.method);
    f.must("nranks", key.nranks);
    f.must("ppn", key.ppn);
    f.must("bytes", key.bytes);
    f.must("calls", key.calls);
}

void walk(auto& f, Is<Metric> auto& metric) {
    f.must("name", metric.name);
    f.must("value", metric.value);
}

void walk(auto& f, Is<StepSamples> auto& samples) {
    f.must("step", samples.step);
    f.must("compute", samples.compute);
    f.must("exposed", samples.exposed);
    f.may("communication", samples.communication);
    f.may("computing", samples.computing);
    f.may("wait", samples.wait);
    f.may("work", samples.work);
}

void walk(auto& f, Is<TrainingStep> auto& step) {
    f.may("session", step.session);
    f.must("launch", step.launch);
    f.must("key", step.key);
    f.may("skipped", step.skipped);
    if (step.skipped) return;
    f.may("partial", step.is_partial);
    f.must("n", step.step.n);
    f.must("step_ns", step.step);
    f.interval("ci95_step_ns", step.step.ci95_lo, step.step.ci95_hi);
    f.must("compute_ns", step.compute);
    f.must("communication_ns", step.communication);
    f.must("exposed_ns", step.exposed);
    f.interval("ci95_exposed_ns", step.exposed.ci95_lo, step.exposed.ci95_hi);
    f.must("computing_ns", step.computing);
    f.must("wait_ns", step.wait);
    f.must("work_ns", step.work);
    f.must("overlap", step.overlap);
    f.must("slowdown", step.slowdown);
    f.must("bound_ns", step.bound_ns);
    f.must("check", step.check);
    f.may("metrics", step.metrics);
    f.may("samples_ns", step.samples);
}

void walk(auto& f, Is<Fail> auto& fail) {
    f.may("session", fail.session);
    f.must("launch", fail.launch);
    f.may("point", fail.point);
    f.must("phase", fail.phase);
    f.must("what", fail.what);
    f.may("rank", fail.rank);
    f.may("host", fail.host);
    f.may("code", fail.code);
    f.may("signal", fail.signal);
    f.may("last_beat_ns", fail.last_beat_ns);
    f.may("stderr_tail", fail.stderr_tail);
    f.may("stacks", fail.stacks);
}

void walk(auto& f, Is<Rates> auto& rates) {
    f.must("bytes", rates.bytes);
    f.must("GBps", rates.gbps);
}

void walk(auto& f, Is<Curve> auto& curve) {
    f.must("pass", curve.pass);
    f.must("stores", curve.stores);
    f.must("cores", curve.cores);
    walk(f, curve.rates);
}

void walk(auto& f, Is<SignalLatency> auto& pair) {
    f.must("a", pair.a);
    f.must("b", pair.b);
    f.must("one_way_ns", pair.one_way_ns);
    f.must("exchange_ns", pair.exchange_ns);
}

void walk(auto& f, Is<StreamTrial> auto& trial) {
    f.must("bytes", trial.bytes);
    f.must("cached_ns", trial.cached_ns);
    f.must("streaming_ns", trial.streaming_ns);
}

void walk(auto& f, Is<HostLink> auto& link) {
    f.must("a", link.a);
    f.must("b", link.b);
    f.must("latency_ns", link.latency_ns);
    f.must("GBps", link.gbps);
    f.must("back_GBps", link.back_gbps);
    f.may("both_GBps", link.both_gbps);
    f.may("burst", link.burst);
    f.must("residual", link.residual);
}

void walk(auto& f, Is<HostNetwork> auto& network) {
    f.must("hosts", network.hosts);
    f.must("links", network.links);
    f.may("all_GBps", network.all_gbps);
}

void walk(auto& f, Is<Limits> auto& limits) {
    f.may("session", limits.session);
    f.must("launch", limits.launch);
    f.must("t", limits.t);
    f.must("topo_sha256", limits.topo_sha256);
    f.may("kernels", limits.kernels);
    f.must("cores", limits.cores);
    f.may("clock_ns", limits.clock_ns);
    f.may("hand_overs", limits.signal_latencies);
    f.may("yield_ns", limits.yield_ns);
    f.may("wake_ns", limits.wake_ns);
    f.may("wake_same_core_ns", limits.wake_same_core_ns);
    f.must("curves", limits.curves);
    f.may("staged", limits.staged);
    f.may("single_copy_ns", limits.single_copy_ns);
    f.may("single_copy", limits.single_copy);
    f.may("stream_trials", limits.stream_trials);
    f.must("stream_from", limits.stream_from);
    f.may("taken", limits.taken);
    f.may("network", limits.network);
}

void walk(auto& f, Is<LowerLimits> auto& lower) {
    f.may("session", lower.session);
    f.must("launch", lower.launch);
    f.must("limit_ns", lower.limit_ns);
}

void walk(auto& f, Is<End> auto& end) {
    f.may("session", end.session);
    f.must("launch", end.launch);
    f.must("ok", end.ok);
    f.must("wall_ns", end.wall_ns);
    f.may("health", end.health);
}

void walk(auto& f, Is<LaunchOfMetric> auto& seen) {
    f.must("est", seen.change);
    f.may("noise_a", seen.noise_a);
    f.may("noise_b", seen.noise_b);
    f.must("a_ns", seen.a_ns);
    f.must("b_ns", seen.b_ns);
    f.must("quads", seen.quads);
}

void walk(auto& f, Is<Pair> auto& pair) {
    f.may("session", pair.session);
    f.must("launch", pair.launch);
    f.may("stage", pair.stage, 1);
    f.must("metric", pair.metric);
    walk(f, pair.seen);
}

void walk(auto& f, Is<VerdictRecord> auto& verdict) {
    f.may("session", verdict.session);
    f.must("metric", verdict.metric);
    f.must("verdict", verdict.verdict);
    f.must("ratio", verdict.ratio);
    f.may("low", verdict.low);
    f.may("high", verdict.high);
    f.must("confidence", verdict.confidence);
    f.may("p", verdict.p, 1.);
    f.may("noise", verdict.noise);
    f.may("mde", verdict.visible);
    f.may("a_ns", verdict.a_ns);
    f.may("b_ns", verdict.b_ns);
    f.may("unit", verdict.unit, "ns");
    f.must("n_launch", verdict.launches);
    f.may("stage", verdict.stage, 1);
    f.may("rule", verdict.rule);
    f.may("nranks", verdict.nranks);
    f.may("method", verdict.method, Pairing::by_turns);
    f.may("ignored", verdict.ignored);
}

void walk(auto& f, Is<FloorRecord> auto& floor) {
    f.may("session", floor.session);
    f.must("asked", floor.asked);
    f.must("metric", floor.metric);
    f.may("metrics", floor.metrics, 1);
    f.must("value", floor.value);
    f.must("bound", floor.bound);
    f.must("unit", floor.unit);
    f.must("met", floor.met);
}

void walk(auto& f, Is<StepGrowth> auto& times) {
    f.may("session", times.session);
    f.must("metric", times.metric);
    f.must("n_launch", times.launches);
    f.must("a_ns", times.a_ns);
    f.must("b_ns", times.b_ns);
    f.must("grew_ns", times.grew_ns);
}

// A number for each step, and one for what comes after them.
inline void check(const StepGrowth& times, const JsonPlace& place) {
    const std::size_t numbers = times.grew_ns.size();
    if (numbers == 0 || times.a_ns.size() != numbers || times.b_ns.size() != numbers)
        place.fail("has not as many numbers in a_ns and b_ns as in grew_ns, or none");
}

void walk(auto& f, Is<PointOverLaunches> auto& all) {
    f.must("n_launch", all.launches);
    walk(f, all.point);
}

void walk(auto& f, Is<StepOverLaunches> auto& all) {
    f.must("n_launch", all.launches);
    walk(f, all.step);
}

}  // namespace tutti
