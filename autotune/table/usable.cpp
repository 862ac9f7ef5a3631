// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/usable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/transport/table/transports.hpp"

namespace tutti {
namespace {

std::optional<std::string> unusable_library(const Configuration& choice, Collective collective) {
    const auto library = std::ranges::find(baselines(), choice.impl, &Baseline::name);
    if (library == baselines().end())
        return fmt::format("this build has no library '{}'", choice.impl);
    if (const auto reason = library->missing()) return reason;
    // Empty before the library has started
    const auto algorithms = library->algorithms(collective);
    if (choice.algorithm.empty() || algorithms.empty() ||
        std::ranges::find(algorithms, choice.algorithm) != algorithms.end())
        return std::nullopt;
    return fmt::format("{} has no algorithm '{}' for {}", choice.impl, choice.algorithm,
                       name_of(collective));
}

std::optional<std::string> unusable_algorithm(const Configuration& choice, Collective collective,
                                              const JobShape& job_shape) {
    const auto algorithms = algorithms_of(collective);
    const auto algorithm = std::ranges::find(algorithms, choice.algorithm, &Algorithm::name);
    if (algorithm == algorithms.end())
        return fmt::format("this build has no algorithm '{}' for {}", choice.algorithm,
                           name_of(collective));
    Job job{.collective = collective, .ranks = job_shape.ranks};
    if ((*algorithm)->hierarchical)
        job.placement = Placement::in_nodes_of(job_shape.ranks, job_shape.ranks_per_host);
    return (*algorithm)->refuses(job);
}

std::optional<std::string> unusable_transport(std::string_view name) {
    const auto transport = std::ranges::find(transports(), name, &TransportRow::name);
    if (transport == transports().end())
        return fmt::format("this build has no transport '{}'", name);
    return transport->missing();
}

// Looks at the evidence for the largest messages first, because a small loss there costs little.
std::optional<Configuration> usable_runner_up(const Section& section, const Range& range) {
    for (auto seen = range.evidence.rbegin(); seen != range.evidence.rend(); ++seen)
        if (seen->runner_up && *seen->runner_up != range.choice &&
            !unusable(*seen->runner_up, section.subject, section.job_shape))
            return seen->runner_up;
    return std::nullopt;
}

std::optional<Configuration> usable_library(const Section& section, const Range& range) {
    const auto take = [&](std::string_view name) -> std::optional<Configuration> {
        const Configuration library{.impl = std::string(name)};
        if (library == range.choice || unusable(library, section.subject, section.job_shape))
            return std::nullopt;
        return library;
    };
    for (const RangeEvidence& seen : range.evidence)
        if (seen.hold_out)
            if (auto library = take(seen.hold_out->library)) return library;
    for (const Baseline& baseline : baselines())
        if (auto library = take(baseline.name)) return library;
    return std::nullopt;
}

// The evidence was for another choice.
void take_instead(Range& range, const Configuration& choice) {
    range.choice = choice;
    range.origin = Origin::interpolated;
    range.evidence.clear();
}

// Returns false if no range of the section can be used.
bool make_usable(Section& section) {
    std::vector<Range> usable_ranges;
    for (Range& range : section.ranges) {
        if (unusable(range.choice, section.subject, section.job_shape)) {
            const auto instead = fallback(section, range);
            if (!instead) continue;  // the previous range continues
            take_instead(range, *instead);
        }
        usable_ranges.push_back(std::move(range));
    }
    if (!usable_ranges.empty()) usable_ranges.front().from = Bytes{0};
    section.ranges = std::move(usable_ranges);
    return !section.ranges.empty();
}

}  // namespace

std::optional<std::string> unusable(const Configuration& choice, const Subject& subject,
                                    const JobShape& job_shape) {
    if (!choice.is_ours()) return unusable_library(choice, subject.collective);
    if (auto reason = unusable_transport(choice.transport)) return reason;
    return unusable_algorithm(choice, subject.collective, job_shape);
}

std::optional<Configuration> fallback(const Section& section, const Range& range) {
    if (auto choice = usable_runner_up(section, range)) return choice;
    return usable_library(section, range);
}

std::vector<UnusableChoice> unusable(const Table& table) {
    std::vector<UnusableChoice> found;
    for (const Section& section : table.sections)
        for (const Range& range : section.ranges)
            if (auto reason = unusable(range.choice, section.subject, section.job_shape))
                found.push_back({section.job_shape, section.subject, range.from, range.choice,
                                 *std::move(reason), fallback(section, range)});
    return found;
}

Table usable(Table table) {
    std::erase_if(table.sections, [](Section& section) { return !make_usable(section); });
    return table;
}

}  // namespace tutti
