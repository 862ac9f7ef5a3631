// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_reader.hpp"
#include "base/json_schema.hpp"
#include "base/json_writer.hpp"
#include "results/records/record.hpp"

// Fields of what a machine can do: see record_fields.hpp.
namespace tutti {

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

}  // namespace tutti
