// SPDX-License-Identifier: Apache-2.0
#include "library/nccl/tuner_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "autotune/table/measured_choices.hpp"

namespace tutti {
namespace {

Table sections_for(const Table& table, NcclRanks wanted) {
    Table found;
    for (const Section& section : table.sections)
        if (section.job_shape.ranks == wanted.ranks && section.job_shape.hosts() == wanted.hosts)
            found.sections.push_back(section);
    if (found.sections.empty())
        throw Error(fmt::format("no choices for {} ranks on {} hosts", wanted.ranks, wanted.hosts));
    return found;
}

}  // namespace

TunerChoices::TunerChoices(const Table& table, NcclRanks ranks, const std::string& topology) {
    const ExportedPart part{.topology = topology, .buffers = {}, .on_devices = true};
    for (const MeasuredChoices& measured : measured_choices(sections_for(table, ranks), part)) {
        std::vector<Sizes>& sizes = sizes_[measured.collective];
        for (const auto& [from, end, configuration] : measured.sizes) {
            NcclChoice choice;
            try {
                if (configuration.impl != "nccl") throw Error("");
                if (!configuration.algorithm.empty())
                    choice = parse_nccl_choice(configuration.algorithm);
            } catch (const Error&) {
                if (std::string name = to_string(configuration);
                    std::ranges::find(left_to_nccl_, name) == left_to_nccl_.end())
                    left_to_nccl_.push_back(std::move(name));
            }
            if (!limits_channels(choice, ranks.hosts)) choice.channels = 0;
            sizes.push_back({from, end, choice});
        }
    }
}

NcclChoice TunerChoices::at(Collective collective, Bytes bytes) const noexcept {
    const auto found = sizes_.find(collective);
    if (found == sizes_.end()) return {};
    const auto& sizes = found->second;
    const auto above = std::ranges::upper_bound(sizes, bytes, {}, &Sizes::from);
    if (above == sizes.begin() || bytes >= std::prev(above)->end) return {};
    return std::prev(above)->choice;
}

std::string TunerChoices::covered() const {
    std::vector<std::string> parts;
    for (const auto& [collective, sizes] : sizes_)
        if (!sizes.empty())
            parts.push_back(fmt::format("{} {} to {}", name_of(collective),
                                        to_string(sizes.front().from),
                                        to_string(sizes.back().end)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

bool CostTable::prefer(const NcclChoice& choice) const noexcept {
    const auto width = static_cast<std::size_t>(protocols);
    const auto first = static_cast<std::size_t>(choice.algorithm) * width;
    if (choice.is_default() || first + width > costs.size() || choice.protocol >= protocols)
        return false;
    std::span<float> wanted = costs.subspan(first, width);
    if (choice.protocol != NcclChoice::by_nccl)
        wanted = wanted.subspan(static_cast<std::size_t>(choice.protocol), 1);
    float* best = nullptr;
    for (float& cost : wanted)
        if (cost >= 0 && (best == nullptr || cost < *best)) best = &cost;
    if (best == nullptr) return false;
    *best = 0;
    return true;
}

}  // namespace tutti
