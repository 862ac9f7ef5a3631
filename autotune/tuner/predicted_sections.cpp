// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/predicted_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/model/model_json.hpp"
#include "autotune/search/ranges.hpp"
#include "autotune/table/estimate.hpp"
#include "autotune/table/explain.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/units.hpp"
#include "results/records/identity.hpp"
#include "topology/detect/detect.hpp"
#include "topology/machine/fingerprint.hpp"

namespace tutti {
namespace {

// Uses the model as a race: each variant has one sample per size, its prediction.
std::vector<Finding> findings_of(const Predictor& predict, const std::vector<Variant>& variants,
                                 const Subject& subject, const JobShape& job_shape,
                                 std::span<const Bytes> sizes) {
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        Finding& finding = findings.emplace_back();
        finding.size = size;
        for (std::size_t arm = 0; arm < variants.size(); ++arm)
            if (const auto ns =
                    predict(variants[arm].candidate.configuration, subject, job_shape, size))
                finding.entries.push_back({.arm = static_cast<int>(arm), .samples_ns = {*ns}});
        std::ranges::stable_sort(finding.entries, {},
                                 [](const Evidence& entry) { return entry.samples_ns.front(); });
        if (finding.entries.empty()) continue;
        finding.winner = finding.entries.front().arm;
        for (Evidence& entry : finding.entries)
            entry.ratio = entry.samples_ns.front() / finding.entries.front().samples_ns.front();
    }
    return findings;
}

// Returns a prediction as a time without an interval.
TimeInterval predicted(const Evidence& entry) {
    const double ns = entry.samples_ns.front();
    return {.p50 = ns, .low = ns, .high = ns, .n = 0};
}

std::vector<Range> ranges_by_model(const std::vector<Finding>& findings,
                                   const std::vector<Variant>& variants, double hysteresis) {
    std::vector<Range> ranges;
    for (const SizeRange& range : ranges_of(std::span(findings), hysteresis).ranges) {
        Range& all = ranges.emplace_back();
        all.from = range.from;
        all.choice = at(variants, range.arm).candidate.configuration;
        all.origin = Origin::predicted;
        for (std::size_t i = range.first; i <= range.last; ++i) {
            RangeEvidence& evidence = all.evidence.emplace_back();
            evidence.size = findings[i].size;
            for (const Evidence& entry : findings[i].entries)
                if (entry.arm == range.arm)
                    evidence.time = predicted(entry);
                else if (!evidence.runner_up) {
                    evidence.runner_up = at(variants, entry.arm).candidate.configuration;
                    evidence.runner_up_time = predicted(entry);
                }
        }
    }
    return ranges;
}

// Returns the fingerprint of one of the hosts that the model was calibrated on.
std::string host_of(const CostModel& model) {
    const ModelParameters& known = model.parameters();
    if (known.across.empty()) return known.machine.fingerprint;
    if (!known.machine.host.empty()) return known.machine.host;
    throw Error(
        "the hosts of the cost model's calibration differ from each other, so it cannot predict "
        "other numbers of hosts; calibrate on equal hosts: mpirun ... tutti tune --budget 30s");
}

bool is_all_predicted(const Section& section) {
    return std::ranges::all_of(
        section.ranges, [](const Range& range) { return range.origin == Origin::predicted; });
}

}  // namespace

std::vector<Section> predicted_sections(const CostModel& model, const TuneRequest& request,
                                        const JobShape& job_shape) {
    const Predictor predict = predictor_of_job_shapes(model);
    std::vector<Section> sections;
    std::vector<BufferKind> kinds = request.buffers;
    if (kinds.empty()) kinds = {BufferKind::registered, BufferKind::unregistered};
    for (const Subject& subject : subjects_of(request, kinds)) {
        const auto variants = variants_of(candidates(subject.collective, request.search_space));
        const auto findings = findings_of(predict, variants, subject, job_shape, request.sizes);
        auto ranges = ranges_by_model(findings, variants, request.search.hysteresis);
        if (!ranges.empty())
            sections.push_back(
                {.job_shape = job_shape, .subject = subject, .ranges = std::move(ranges)});
    }
    return sections;
}

CostModel model_to_predict_by(const std::string& table_file) {
    if (std::filesystem::exists(table_file)) {
        const Table table = read_table(table_file);
        if (!table.model.empty()) return model_from_json(table.model, table_file);
    }
    if (auto stored = stored_model(fingerprint(detect_host()))) return *std::move(stored);
    throw Error(
        "no cost model of this machine is stored; run: mpirun -np 2 tutti tune --budget 30s");
}

MissingPrediction missing_prediction(const CostModel& model, const JobShape& shape) {
    const ModelParameters& known = model.parameters();
    const bool is_oversubscribed = shape.ranks_per_host > known.machine.cores;
    const auto is_so = [&](const auto& costs) {
        return costs.first.ends_with(" oversubscribed") == is_oversubscribed;
    };
    const auto calibrate = [](const std::string& ranks) {
        return fmt::format("calibrate it: mpirun {} tutti tune --budget 30s", ranks);
    };
    const int cores = known.machine.cores;
    if (shape.ranks > shape.ranks_per_host && known.across.empty())
        return {"the model was calibrated within a host",
                "omit --ranks-per-host, or " + calibrate("over several hosts")};
    if (shape.ranks_per_host > 1 && known.within.empty())
        return {"the model was calibrated with one rank on each host",
                fmt::format("use --ranks-per-host 1, or {}", calibrate("with more on a host"))};
    const bool knows_none =
        std::ranges::none_of(known.within, is_so) && std::ranges::none_of(known.across, is_so);
    if (knows_none && is_oversubscribed)
        return {fmt::format("the model was calibrated with a core for each rank, and a host has {}",
                            counted(cores, "core")),
                fmt::format("use {} {}, or {}",
                            known.across.empty() ? "--for-ranks up to" : "--ranks-per-host", cores,
                            calibrate(fmt::format("--oversubscribe -np {}", 2 * cores)))};
    if (knows_none)
        return {"the model was calibrated with more ranks than cores",
                fmt::format("use --for-ranks above {}, or {}", cores,
                            calibrate(fmt::format("-np {}", cores)))};
    return {"the model was calibrated over other transports or memory",
            "use another --transport or --buffers, or " + calibrate("...")};
}

JobShape shape_like_model(const CostModel& model, int ranks, int ranks_per_host) {
    const int fullest = ranks_per_host > 0 ? std::min(ranks_per_host, ranks) : ranks;
    const std::size_t hosts = static_cast<std::size_t>(divide_up(ranks, fullest));
    const std::vector<std::string> alike(hosts, host_of(model));
    return {.ranks = ranks,
            .ranks_per_host = fullest,
            .topology = hosts == 1 ? alike.front() : fingerprint_of_hosts(alike)};
}

SearchSpace search_space_of(const CostModel& model, SearchSpace search_space) {
    search_space.baselines = {"none"};
    if (search_space.transports != std::vector<std::string>{"all"}) return search_space;
    search_space.transports.clear();
    for (const TransportRow& row : transports())
        if (!row.is_part && model.knows(row.name)) search_space.transports.emplace_back(row.name);
    return search_space;
}

Table with_measured(Table predicted, const std::string& file) {
    if (!std::filesystem::exists(file)) return predicted;
    const Table known = read_table(file);
    std::erase_if(predicted.sections, [&](const Section& section) {
        const Section* measured = find_section(known, section.job_shape, section.subject);
        return measured != nullptr && !is_all_predicted(*measured);
    });
    const std::vector<Table> both{known, predicted};
    return merged(both);
}

}  // namespace tutti
