// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json_reader.hpp"
#include "base/json_schema.hpp"
#include "base/json_writer.hpp"
#include "results/records/record.hpp"
#include "results/statistics/interval.hpp"

// Fields of a measured point and of its numerics: see record_fields.hpp.
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
        if (!rank || !std::in_range<int>(*rank)) place.child(field).fail("is not a rank");
        decode(place.child(field), count_by_rank[{static_cast<int>(*rank)}]);
    }
}

inline Json schema_of(const std::map<Rank, std::int64_t>&) {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^[0-9]+$"}}},
            {"additionalProperties", schema_of(std::int64_t{})}};
}

// "[lo, hi]"
struct Interval {
    std::int64_t lo = 0, hi = 0;
    bool operator==(const Interval&) const = default;
};
inline Json encode(const Interval& ends) { return Json::array({ends.lo, ends.hi}); }
inline void decode(const JsonPlace& place, Interval& ends) {
    std::vector<std::int64_t> found;
    decode(place, found);
    if (found.size() != 2) place.fail("is not [lo, hi]");
    ends = {found[0], found[1]};
}
inline Json schema_of(const Interval& ends) {
    return {{"type", "array"}, {"items", schema_of(ends.lo)}, {"minItems", 2}, {"maxItems", 2}};
}

// The interval of a median. Few samples have none; their ends are the smallest and the largest,
// which older versions wrote.
void walk_interval(auto& f, const char* name, Is<Summary> auto& time, std::size_t samples) {
    const bool is_there = samples >= least_of_interval;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(f)>, JsonReader>) {
        Interval ends{time.min, time.max};
        if (is_there) f.must(name, ends);
        time.ci95_lo = ends.lo;
        time.ci95_hi = ends.hi;
    } else {
        std::optional<Interval> ends;
        if (is_there) ends = {time.ci95_lo, time.ci95_hi};
        f.may(name, ends);
    }
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
    f.may("blocks", key.blocks);
    f.may("aggressor", key.aggressor);
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

void walk(auto& f, Is<LevelShare> auto& share) {
    f.may("within", share.within);
    f.must("bytes", share.bytes);
    f.must("messages", share.messages);
    f.may("ns", share.ns);
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
    walk_interval(f, "ci95_p50_ns", point.time, point.time.n);
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
    f.may("levels", point.levels);
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

}  // namespace tutti
