// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/caching_evaluator.hpp"

#include <algorithm>

namespace tutti {

CachingEvaluator::CachingEvaluator(Evaluator& inner, std::span<const CachedSamples> cached,
                                   Store keep)
    : inner_(inner), store_(std::move(keep)) {
    for (const CachedSamples& piece : cached) {
        std::vector<double>& all = memory_[{piece.size, piece.arm}].samples_ns;
        all.insert(all.end(), piece.samples_ns.begin(), piece.samples_ns.end());
    }
}

std::vector<std::vector<double>> CachingEvaluator::race(Bytes size, std::span<const int> arms,
                                                        int repetitions) {
    const auto wanted = static_cast<std::size_t>(std::max(0, repetitions));
    std::vector<int> lacking;
    std::size_t most_missing = 0;
    for (const int arm : arms) {
        const Memory& memory = memory_[{size, arm}];
        const std::size_t left = memory.samples_ns.size() - memory.returned;
        if (left >= wanted) continue;
        lacking.push_back(arm);
        most_missing = std::max(most_missing, wanted - left);
    }
    if (!lacking.empty()) ask(size, lacking, static_cast<int>(most_missing));

    std::vector<std::vector<double>> answer;
    for (const int arm : arms) {
        Memory& memory = memory_[{size, arm}];
        const std::size_t end = std::min(memory.returned + wanted, memory.samples_ns.size());
        answer.emplace_back(
            memory.samples_ns.begin() + static_cast<std::ptrdiff_t>(memory.returned),
            memory.samples_ns.begin() + static_cast<std::ptrdiff_t>(end));
        memory.returned = end;
    }
    return answer;
}

void CachingEvaluator::ask(Bytes size, std::span<const int> arms, int repetitions) {
    had_to_ask_ = true;
    if (inner_.is_over()) return;
    const std::vector<std::vector<double>> fresh = inner_.race(size, arms, repetitions);
    for (std::size_t i = 0; i < arms.size() && i < fresh.size(); ++i) {
        if (fresh[i].empty()) continue;
        std::vector<double>& all = memory_[{size, arms[i]}].samples_ns;
        all.insert(all.end(), fresh[i].begin(), fresh[i].end());
        if (store_) store_({size, arms[i], fresh[i]});
    }
}

void RacedSamples::add(const CachedSamples& race) {
    if (race.samples_ns.empty()) return;
    std::vector<double>& all = samples_[race.size][race.arm];
    all.insert(all.end(), race.samples_ns.begin(), race.samples_ns.end());
}

std::vector<Finding> RacedSamples::findings(std::span<const Bytes> sizes) const {
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        const auto known = samples_.find(size);
        findings.push_back(
            finding_by_medians(size, known == samples_.end() ? SamplesByArm{} : known->second));
    }
    return findings;
}

}  // namespace tutti
