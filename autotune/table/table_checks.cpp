// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <utility>

#include "autotune/table/table_fields.hpp"

namespace tutti {
namespace {

// What no job has; a larger number is a mistake.
constexpr int most_ranks = 1 << 24;

}  // namespace

void check(const JobShape& job_shape, const JsonPlace& place) {
    if (job_shape.ranks < 1 || job_shape.ranks > most_ranks)
        place.fail(fmt::format("has {} ranks, where 1 to {} can be", job_shape.ranks, most_ranks));
    if (job_shape.ranks_per_host < 1 || job_shape.ranks_per_host > job_shape.ranks)
        place.fail(fmt::format("has {} of its {} ranks on a host", job_shape.ranks_per_host,
                               job_shape.ranks));
}

void check(const Subject& subject, const JsonPlace& place) {
    const bool adds_up = reduces(subject.collective);
    if (adds_up == (subject.types == TypeClass::bytes) || adds_up == (subject.ops == OpClass::none))
        place.fail(fmt::format("says {} types and {} operations of {}, which {} up",
                               name_of(subject.types), name_of(subject.ops),
                               name_of(subject.collective), adds_up ? "adds" : "adds nothing"));
}

void check(const Configuration& configuration, const JsonPlace& place) {
    const Configuration& c = configuration;
    if (c.impl.empty()) place.fail("does not say whose implementation it is");
    if (c.is_ours() && (c.algorithm.empty() || c.transport.empty()))
        place.fail("is tutti's own, but lacks its algorithm or its transport");
    for (const Knob& knob : knobs) {
        const std::int64_t value = knob.of(c);
        if (value == knob.default_value) continue;
        if (value < knob.least)
            place.fail(fmt::format("has '{}' of {}, less than {}", knob.name, value, knob.least));
        if (value > knob.most)
            place.fail(fmt::format("has '{}' of {}, more than {}", knob.name, value, knob.most));
    }
}

void check(const TimeInterval& time, const JsonPlace& place) {
    if (time.low < 0) place.fail("is a negative time");
    if (time.n < 0) place.fail("has a negative number of samples");
    if (!(time.low <= time.p50 && time.p50 <= time.high))
        place.fail(fmt::format("has a median of {} that is not within its interval, {} to {}",
                               time.p50, time.low, time.high));
}

void check(const HoldOut& hold_out, const JsonPlace& place) {
    if (hold_out.library.empty()) place.fail("does not name the library");
    if (hold_out.gain_low < 0) place.fail("has a negative gain");
    if (!(hold_out.gain_low <= hold_out.gain && hold_out.gain <= hold_out.gain_high))
        place.fail(fmt::format("has a gain of {} that is not within its interval, {} to {}",
                               hold_out.gain, hold_out.gain_low, hold_out.gain_high));
}

void check(const RangeEvidence& evidence, const JsonPlace& place) {
    if (evidence.size < Bytes{0}) place.fail("has a negative size");
    if (evidence.runner_up_time && !evidence.runner_up)
        place.fail("has a time of a runner-up that it does not name");
}

void check(const Section& section, const JsonPlace& place) {
    const JsonPlace ranges = place.needed("ranges");
    if (section.ranges.empty()) ranges.fail("is empty, so that nothing can be chosen");
    if (section.ranges.front().from != Bytes{0})
        ranges.item(0).fail(fmt::format("begins at {} bytes; the first range has to begin at 0",
                                        section.ranges.front().from.count));
    for (std::size_t i = 1; i < section.ranges.size(); ++i)
        if (section.ranges[i].from <= section.ranges[i - 1].from)
            ranges.item(i).fail(fmt::format("begins at {} bytes, not above the range before it",
                                            section.ranges[i].from.count));
}

void check(const Table& table, const JsonPlace& place) {
    std::set<std::pair<JobShape, Subject>> seen;
    for (std::size_t i = 0; i < table.sections.size(); ++i) {
        const Section& section = table.sections[i];
        if (!seen.emplace(section.job_shape, section.subject).second)
            place.needed("sections")
                .item(i)
                .fail(fmt::format("is there twice: {}", to_string(section.subject)));
    }
}

}  // namespace tutti
