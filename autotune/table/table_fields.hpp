// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/table.hpp"

namespace tutti {

/// Each part of a table tells a visitor its fields by name: the JSON writer and reader are two
/// visitors, so that what one writes the other knows. `needed` fields must be there; `usual` ones
/// have a default, and are not written where they hold it; a `text` is of another format.

template <class Visitor>
void visit_fields(Visitor& visit, JobShape& setting) {
    visit.needed("ranks", setting.ranks);
    visit.needed("ranks_per_host", setting.ranks_per_host);
    visit.needed("topology", setting.topology);
}

template <class Visitor>
void visit_fields(Visitor& visit, Subject& subject) {
    visit.needed("collective", subject.collective);
    const bool adds_up = reduces(subject.collective);
    visit.usual("types", subject.types, adds_up ? TypeClass::native : TypeClass::bytes);
    visit.usual("ops", subject.ops, adds_up ? OpClass::plain : OpClass::none);
    visit.needed("buffers", subject.buffers);
}

template <class Visitor>
void visit_fields(Visitor& visit, Configuration& configuration) {
    visit.needed("impl", configuration.impl);
    visit.usual("algorithm", configuration.algorithm, {});
    visit.usual("transport", configuration.transport, {});
    for (const Knob& knob : knobs)
        knob.visit(configuration, [&](auto& value, const auto& otherwise) {
            visit.usual(knob.name, value, otherwise);
        });
}

template <class Visitor>
void visit_fields(Visitor& visit, TimeInterval& time) {
    visit.needed("p50", time.p50);
    visit.needed("low", time.low);
    visit.needed("high", time.high);
    visit.usual("n", time.n, 0);
}

template <class Visitor>
void visit_fields(Visitor& visit, HoldOut& hold_out) {
    visit.needed("library", hold_out.library);
    visit.needed("choice", hold_out.choice);
    visit.needed("default", hold_out.default_);
    visit.needed("gain", hold_out.gain);
    visit.needed("gain_low", hold_out.gain_low);
    visit.needed("gain_high", hold_out.gain_high);
    visit.usual("launch", hold_out.launch, {});
}

template <class Visitor>
void visit_fields(Visitor& visit, RangeEvidence& evidence) {
    visit.needed("size", evidence.size);
    visit.needed("time", evidence.time);
    visit.usual("runner_up", evidence.runner_up, {});
    visit.usual("runner_up_time", evidence.runner_up_time, {});
    visit.usual("hold_out", evidence.hold_out, {});
}

template <class Visitor>
void visit_fields(Visitor& visit, Range& range) {
    visit.needed("from", range.from);
    visit.needed("choice", range.choice);
    visit.needed("origin", range.origin);
    visit.usual("evidence", range.evidence, {});
}

template <class Visitor>
void visit_fields(Visitor& visit, Section& section) {
    visit.needed("setting", section.setting);
    visit.needed("subject", section.subject);
    visit.usual("complete", section.is_complete, true);
    visit.usual("measured_at", section.measured_at, {});
    visit.usual("launches", section.launches, {});
    visit.needed("ranges", section.ranges);
}

/// Without format and version, which are looked at before.
template <class Visitor>
void visit_fields(Visitor& visit, Table& table) {
    visit.usual("written", table.written, {});
    visit.usual("tool", table.tool, {});
    visit.text("model", table.model);
    visit.needed("sections", table.sections);
}

}  // namespace tutti
