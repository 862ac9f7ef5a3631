// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "results/records/comparison_fields.hpp"
#include "results/records/launch_fields.hpp"
#include "results/records/limits_fields.hpp"
#include "results/records/point_fields.hpp"

// The fields of each record in JSON (see Is). `may` fields are left out while they say nothing
// (empty, 0, none, or the default), so a field added later changes no old line and no point id.
namespace tutti {

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
    walk_interval(f, "ci95_step_ns", step.step, step.step.n);
    f.must("compute_ns", step.compute);
    f.must("communication_ns", step.communication);
    f.must("exposed_ns", step.exposed);
    walk_interval(f, "ci95_exposed_ns", step.exposed, step.step.n);
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

void walk(auto& f, Is<End> auto& end) {
    f.may("session", end.session);
    f.must("launch", end.launch);
    f.must("ok", end.ok);
    f.must("wall_ns", end.wall_ns);
    f.may("health", end.health);
}

}  // namespace tutti
