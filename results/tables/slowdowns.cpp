// SPDX-License-Identifier: Apache-2.0
#include "results/tables/slowdowns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "results/summary/ranking.hpp"
#include "results/tables/fastest.hpp"

namespace tutti {
namespace {

using Ratios = std::vector<std::pair<int, LogValue>>;  // by launch

// A candidate next to an aggressor, at all sizes.
struct Slowdown {
    std::string candidate;
    std::vector<Ratios> of_sizes;
    std::optional<Ratio> mean;
    std::optional<Ratio> worst;
    Bytes worst_size;
};

// Points of one subject next to one aggressor, and the same alone.
struct Pair {
    std::vector<const Point*> alone, beside;
};

std::vector<Slowdown> slowdowns_of(const Pair& pair) {
    const Ranking alone{pair.alone}, beside{pair.beside};
    std::map<Configuration, Slowdown> of_candidate;
    for (const RankedSize& size : beside.sizes()) {
        const auto same = std::ranges::find(alone.sizes(), size.bytes, &RankedSize::bytes);
        if (same == alone.sizes().end()) continue;
        for (const RankedCell& cell : size.cells) {
            const Configuration& candidate = beside.candidates()[cell.candidate];
            const auto place = std::ranges::find(alone.candidates(), candidate);
            if (place == alone.candidates().end()) continue;
            const RankedCell* quiet =
                same->cell_of(static_cast<std::size_t>(place - alone.candidates().begin()));
            const auto ratio = quiet == nullptr ? std::nullopt : compared(cell, *quiet);
            if (!ratio) continue;
            Slowdown& slowdown = of_candidate[candidate];
            slowdown.candidate = candidate_in_words(cell.points.front()->key);
            slowdown.of_sizes.push_back(ratios_by_launch(cell, *quiet));
            if (slowdown.worst && slowdown.worst->value >= ratio->value) continue;
            slowdown.worst = ratio;
            slowdown.worst_size = size.bytes;
        }
    }
    std::vector<Slowdown> all;
    for (auto& [candidate, slowdown] : of_candidate) {
        slowdown.mean = geometric_mean(slowdown.of_sizes);
        if (slowdown.mean) all.push_back(std::move(slowdown));
    }
    std::ranges::stable_sort(all, {}, [](const Slowdown& one) { return one.mean->value; });
    return all;
}

std::string ratio_cell(const Ratio& ratio) {
    return ratio.is_known()
               ? fmt::format("{:.2f} ({:.2f} .. {:.2f})", ratio.value, ratio.low, ratio.high)
               : fmt::format("{:.2f} (too few samples)", ratio.value);
}

// By the subject next to the aggressor, in words.
std::map<std::string, Pair> pairs_of(std::span<const Point> points) {
    std::map<std::string, Pair> pairs;
    for (const Point& point : points)
        if (!point.key.aggressor.empty())
            pairs[subject_in_words(point.key)].beside.push_back(&point);
    for (auto& [subject, pair] : pairs) {
        Key key = pair.beside.front()->key;
        key.aggressor.clear();
        const std::string alone = subject_in_words(key);
        for (const Point& point : points)
            if (point.key.aggressor.empty() && subject_in_words(point.key) == alone)
                pair.alone.push_back(&point);
    }
    return pairs;
}

}  // namespace

std::string slowdown_table(std::span<const Point> points) {
    std::string text;
    for (const auto& [subject, pair] : pairs_of(points)) {
        const std::vector<Slowdown> all = slowdowns_of(pair);
        if (all.empty()) continue;
        text += fmt::format("# Slowdown: {}: time next to it / time alone (95 %)\n", subject);
        text += fmt::format("# {:<34}  {:<24}  {:>10}  {}\n", "candidate", "geometric mean",
                            "worst size", "at worst size");
        for (const Slowdown& one : all)
            text +=
                fmt::format("# {:<34}  {:<24}  {:>10}  {}\n", one.candidate, ratio_cell(*one.mean),
                            one.worst_size.count, ratio_cell(*one.worst));
    }
    return text;
}

}  // namespace tutti
