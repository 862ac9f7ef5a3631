// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/table.hpp"
#include "base/json_reader.hpp"
#include "base/json_writer.hpp"

// The fields of each part of a table in JSON (see Is).
namespace tutti {

/// How to replace a damaged table.
inline constexpr std::string_view remedy =
    "; use the table as tutti wrote it, or create a new one: tutti tune";

void walk(auto& f, Is<JobShape> auto& job_shape) {
    f.must("ranks", job_shape.ranks);
    f.must("ranks_per_host", job_shape.ranks_per_host);
    f.must("topology", job_shape.topology);
}

void walk(auto& f, Is<Subject> auto& subject) {
    f.must("collective", subject.collective);
    const bool adds_up = reduces(subject.collective);
    f.may("types", subject.types, adds_up ? TypeClass::native : TypeClass::bytes);
    f.may("ops", subject.ops, adds_up ? OpClass::plain : OpClass::none);
    f.must("buffers", subject.buffers);
}

void walk(auto& f, Is<Configuration> auto& configuration) {
    f.must("impl", configuration.impl);
    f.may("algorithm", configuration.algorithm, {});
    f.may("transport", configuration.transport, {});
    for (const Knob& knob : knobs)
        knob.visit(configuration, [&](auto& value, const auto& default_value) {
            f.may(knob.name, value, default_value);
        });
}

void walk(auto& f, Is<TimeInterval> auto& time) {
    f.must("p50", time.p50);
    f.must("low", time.low);
    f.must("high", time.high);
    f.may("n", time.n, 0);
}

void walk(auto& f, Is<HoldOut> auto& hold_out) {
    f.must("library", hold_out.library);
    f.must("choice", hold_out.choice);
    f.must("default", hold_out.default_);
    f.must("gain", hold_out.gain);
    f.must("gain_low", hold_out.gain_low);
    f.must("gain_high", hold_out.gain_high);
    f.may("launch", hold_out.launch, {});
}

void walk(auto& f, Is<RangeEvidence> auto& evidence) {
    f.must("size", evidence.size);
    f.must("time", evidence.time);
    f.may("runner_up", evidence.runner_up, {});
    f.may("runner_up_time", evidence.runner_up_time, {});
    f.may("hold_out", evidence.hold_out, {});
    f.may("of_launches", evidence.of_launches, {});
}

void walk(auto& f, Is<Range> auto& range) {
    f.must("from", range.from);
    f.must("choice", range.choice);
    f.must("origin", range.origin);
    f.may("evidence", range.evidence, {});
}

void walk(auto& f, Is<Section> auto& section) {
    f.must("setting", section.job_shape);
    f.must("subject", section.subject);
    f.may("complete", section.is_complete, true);
    f.may("measured_at", section.measured_at, {});
    f.may("launches", section.launches, {});
    f.must("ranges", section.ranges);
}

/// Omits format and version, which are read before.
void walk(auto& f, Is<Table> auto& table) {
    f.may("written", table.written, {});
    f.may("tool", table.tool, {});
    f.text("model", table.model);
    f.must("sections", table.sections);
}

/// Check rules between the fields of a part, after each field was read by its type. Each function
/// throws Error at the place that is wrong.
void check(const JobShape&, const JsonPlace& place);
void check(const Subject&, const JsonPlace& place);
void check(const Configuration&, const JsonPlace& place);
void check(const TimeInterval&, const JsonPlace& place);
void check(const HoldOut&, const JsonPlace& place);
void check(const RangeEvidence&, const JsonPlace& place);
void check(const Section&, const JsonPlace& place);
void check(const Table&, const JsonPlace& place);
inline void check(const Range&, const JsonPlace&) {}

}  // namespace tutti
