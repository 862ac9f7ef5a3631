// SPDX-License-Identifier: Apache-2.0
#include "results/summary/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tutti {
namespace {

std::vector<std::string> names_of(const Configuration& candidate) {
    if (candidate.is_ours())
        return {candidate.algorithm, candidate.algorithm + "/" + candidate.transport,
                candidate.transport};
    const bool is_default = candidate.algorithm.empty() || candidate.algorithm == candidate.impl;
    return {candidate.impl, candidate.impl + "/" + (is_default ? "default" : candidate.algorithm)};
}

}  // namespace

Selection::Range parse_size_range(const std::string& text) {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) return {parse_bytes(text), parse_bytes(text)};
    const std::string first = text.substr(0, dots), last = text.substr(dots + 2);
    return {first.empty() ? Bytes{0} : parse_bytes(first),
            last.empty() ? Bytes{std::numeric_limits<std::int64_t>::max()} : parse_bytes(last)};
}

void select(Results& results, const Selection& selection) {
    const auto& [candidates, sizes] = selection;
    if (candidates.empty() && sizes.empty()) return;
    std::set<std::string> known;
    std::set<std::int64_t> known_sizes;
    const auto is_wanted = [&](const std::string& name) {
        return std::ranges::find(candidates, name) != candidates.end();
    };
    std::erase_if(results.points, [&](const Point& point) {
        const auto names = names_of(point.key.configuration);
        known.insert(names.begin(), names.end());
        known_sizes.insert(point.key.bytes.count);
        const bool is_in_sizes =
            sizes.empty() || std::ranges::any_of(sizes, [&](const Selection::Range& range) {
                return range.first <= point.key.bytes && point.key.bytes <= range.last;
            });
        return !is_in_sizes || (!candidates.empty() && !std::ranges::any_of(names, is_wanted));
    });
    std::erase_if(results.steps, [&](const TrainingStep& step) {
        known.insert(step.key.method);
        return !candidates.empty() &&
               !std::ranges::any_of(candidates, [&](const std::string& name) {
                   return step.key.method.find(name) != std::string::npos;
               });
    });
    known.erase("");
    for (const std::string& name : candidates)
        if (std::ranges::none_of(
                known, [&](const std::string& one) { return one.find(name) != one.npos; }))
            throw Error(fmt::format("--candidates {} matches no result; use one of: {}", name,
                                    fmt::join(known, ", ")));
    if (!results.points.empty() || !results.steps.empty()) return;
    std::vector<std::string> there;
    for (const std::int64_t size : known_sizes) there.push_back(to_string(Bytes{size}));
    throw Error(fmt::format("no result matches both --candidates and --sizes; measured sizes: {}",
                            fmt::join(there, ", ")));
}

}  // namespace tutti
