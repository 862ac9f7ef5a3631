// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/fitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "autotune/table/between_sizes.hpp"
#include "autotune/table/usable.hpp"
#include "base/error.hpp"

namespace tutti {
namespace {

double times_apart(int a, int b) { return std::abs(std::log2(static_cast<double>(a) / b)); }

// Ranks matter more than how they are spread over hosts.
auto distance(const Section& section, const JobShape& setting) {
    return std::tuple(section.setting.topology != setting.topology,
                      times_apart(section.setting.ranks, setting.ranks),
                      times_apart(section.setting.ranks_per_host, setting.ranks_per_host));
}

// The nearest sections of a subject with as many ranks or fewer, and with as many or more; the
// nearer one first, and twice where there is only one.
struct Neighbours {
    const Section *near = nullptr, *far = nullptr;
};

Neighbours neighbours(const std::vector<const Section*>& sections, const Subject& subject,
                      const JobShape& setting) {
    const Section *below = nullptr, *above = nullptr;
    const auto offer = [&](const Section*& place, const Section* section) {
        if (!place || distance(*section, setting) < distance(*place, setting)) place = section;
    };
    for (const Section* section : sections) {
        if (section->subject != subject || section->ranges.empty()) continue;
        if (section->setting.ranks <= setting.ranks) offer(below, section);
        if (section->setting.ranks >= setting.ranks) offer(above, section);
    }
    if (!below) below = above;
    if (!above) above = below;
    if (distance(*above, setting) < distance(*below, setting)) std::swap(below, above);
    return {below, above};
}

// What the section would have taken at the size if it had been made for these ranks.
std::optional<Configuration> choice_for(const Section& section, const JobShape& setting,
                                        Bytes size) {
    const Range& range = range_at(section, size);
    if (!unusable(range.choice, section.subject, setting)) return range.choice;
    Section here = section;
    here.setting = setting;
    return fallback(here, range);
}

std::set<Bytes> beginnings(const Neighbours& sections) {
    std::set<Bytes> sizes;
    for (const Section* section : {sections.near, sections.far})
        for (const Range& range : section->ranges) sizes.insert(range.from);
    constexpr Bytes smallest{16};
    for (Bytes size = smallest; size < largest_asked; size.count *= 2) sizes.insert(size);
    return sizes;
}

// Of the two neighbours' choices the one that the model finds faster on these ranks.
std::optional<Section> between_ranks(const Neighbours& unmarked, const JobShape& setting,
                                     const Predictor& predict) {
    const Section near = decided_between_sizes(*unmarked.near, predict);
    const Section far = decided_between_sizes(*unmarked.far, predict);
    const Estimate near_estimate(predict, near), far_estimate(predict, far);
    Section section{.setting = setting,
                    .subject = near.subject,
                    .launches = near.launches,
                    .is_complete = near.is_complete && far.is_complete,
                    .measured_at = near.measured_at};
    for (const Bytes size : beginnings({&near, &far})) {
        auto one = choice_for(near, setting, size), other = choice_for(far, setting, size);
        if (!one) one = other;
        if (!other) other = one;
        if (!one) continue;
        section.ranges.push_back(
            best_of({*one, &near_estimate}, {*other, &far_estimate}, setting, size));
    }
    if (section.ranges.empty()) return std::nullopt;
    section.ranges.front().from = Bytes{0};
    section.ranges = joined(std::move(section.ranges));
    return section;
}

[[noreturn]] void refuse(const Table& table, const JobShape& setting) {
    if (table.sections.empty()) throw Error("the table has no choices; type: tutti tune");
    throw Error(
        fmt::format("the table was made on another topology ({}) than this one ({}); type: tutti "
                    "tune, or take it all the same: --table-anyway",
                    short_fingerprint(table.sections.front().setting.topology),
                    short_fingerprint(setting.topology)));
}

}  // namespace

Table fitted(const Table& table, const JobShape& setting, const Predictor& predict,
             FitOptions options) {
    std::vector<const Section*> sections;
    std::set<Subject> subjects;
    for (const Section& section : table.sections)
        if (options.anyway || section.setting.topology == setting.topology) {
            sections.push_back(&section);
            subjects.insert(section.subject);
        }
    if (sections.empty()) refuse(table, setting);
    Table result{.written = table.written, .tool = table.tool, .model = table.model};
    for (const Subject& subject : subjects) {
        if (const Section* exact = find_section(table, setting, subject)) {
            result.sections.push_back(decided_between_sizes(*exact, predict));
            continue;
        }
        const Neighbours nearest = neighbours(sections, subject, setting);
        if (auto section = between_ranks(nearest, setting, predict))
            result.sections.push_back(*std::move(section));
    }
    return result;
}

}  // namespace tutti
