// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_reader.hpp"
#include "base/json_schema.hpp"
#include "base/json_writer.hpp"
#include "results/records/record.hpp"

// Fields of what is found between A and B, and over launches: see record_fields.hpp.
namespace tutti {

void walk(auto& f, Is<LaunchOfMetric> auto& seen) {
    f.must("est", seen.change);
    f.may("noise_a", seen.noise_a);
    f.may("noise_b", seen.noise_b);
    f.must("a_ns", seen.a_ns);
    f.must("b_ns", seen.b_ns);
    f.may("unit", seen.unit, "ns");
    f.may("higher_is_better", seen.higher_is_better);
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
    f.may("higher_is_better", verdict.higher_is_better);
    f.must("n_launch", verdict.launches);
    f.may("stage", verdict.stage, 1);
    f.may("rule", verdict.rule);
    f.may("to_decide", verdict.to_decide);
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
        place.fail("needs lists a_ns, b_ns and grew_ns of one length, at least 1");
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
