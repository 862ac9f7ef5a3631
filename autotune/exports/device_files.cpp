// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "autotune/exports/export.hpp"
#include "base/json_writer.hpp"

// Files for libraries whose buffers are on GPUs.
namespace tutti {
namespace {

constexpr Named<Collective> names_in_nccl[] = {
    {Collective::all_reduce, "allreduce"}, {Collective::reduce_scatter, "reducescatter"},
    {Collective::all_gather, "allgather"}, {Collective::broadcast, "broadcast"},
    {Collective::reduce, "reduce"},
};

// An entry of MSCCL++ holds up to the next one.
void expect_no_gap(const ExportedCell& cell) {
    const ExportedRule* gap = nullptr;
    bool has_named = false;
    for (const ExportedRule& rule : cell.rules) {
        if (rule.algorithm == nullptr) {
            if (has_named) gap = &rule;
            continue;
        }
        if (gap != nullptr)
            throw Error(
                fmt::format("--to mscclpp-cutoffs cannot leave {} to {} of {} to the library; use "
                            "--to engine-cutoffs",
                            to_string(gap->from), to_string(gap->end), name_of(cell.collective)));
        has_named = true;
    }
}

std::string_view protocol_of(const ExportedRule& rule) {
    return rule.nccl.protocol == NcclChoice::by_nccl ? "simple"
                                                     : name_in(nccl_protocols, rule.nccl.protocol);
}

std::string indented(const Json& json) { return json.dump(1) + "\n"; }

}  // namespace

std::string write_nccl_csv(const Export& exported) {
    std::string text;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell)) {
            const int channels =
                rule.nccl.channels > 0 ? rule.nccl.channels : exported.settings.channels;
            if (channels == 0)
                throw Error(
                    "a choice names no number of channels, and NCCL's example plugin would use "
                    "one; use --channels with the number that NCCL_DEBUG=INFO prints, e.g. "
                    "--channels 16");
            constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
            text += fmt::format(
                "{},{},{},{},{},{},{},{},-1,-1\n", name_in(names_in_nccl, cell.collective),
                rule.from.count,
                is_open_ended(rule) ? most : static_cast<std::uint64_t>(rule.end.count - 1),
                rule.algorithm->id, protocol_of(rule), channels, cell.job_shape.hosts(),
                cell.job_shape.ranks);
        }
    return text;
}

// NCCLX compares the size divided by the ranks, rounded down. So the quotients begin and end where
// all their sizes are inside of the rule.
std::string write_ncclx(const Export& exported) {
    std::string text;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell)) {
            const int hosts = cell.job_shape.hosts(), on_each = cell.job_shape.ranks / hosts;
            const std::int64_t ranks = std::int64_t{hosts} * on_each;
            const std::int64_t from = (rule.from.count + ranks - 1) / ranks;
            const std::int64_t end = rule.end.count / ranks;
            if (!is_open_ended(rule) && from >= end) continue;
            text +=
                fmt::format("{},[{},{}),{},{},{},{},{}\n", name_in(names_in_nccl, cell.collective),
                            from, is_open_ended(rule) ? "" : std::to_string(end),
                            rule.algorithm->id, protocol_of(rule),
                            rule.nccl.channels > 0 ? rule.nccl.channels : -1, hosts, on_each);
        }
    return text;
}

std::string write_mscclpp(const Export& exported) {
    if (exported.settings.gpu.empty())
        throw Error(
            "--to mscclpp-cutoffs requires the GPU's name as the device reports it; use for "
            "example --gpu 'NVIDIA H200'");
    Json profiles = Json::array();
    std::map<int, Json> of_ranks;
    for (const ExportedCell& cell : exported.cells) {
        expect_no_gap(cell);
        for (const ExportedRule& rule : named_rules(cell))
            of_ranks[cell.job_shape.ranks][std::string(name_in(names_in_nccl, cell.collective))]
                .push_back({{"message_size", std::max<std::int64_t>(rule.from.count, 1)},
                            {"algorithm", rule.algorithm->id},
                            {"nblocks", 0},
                            {"nthreads", 0}});
    }
    for (const auto& [ranks, collectives] : of_ranks)
        profiles.push_back(
            {{"sku", exported.settings.gpu}, {"scale", ranks}, {"collectives", collectives}});
    return indented({{"version", 1}, {"profiles", profiles}});
}

std::string write_engine(const Export& exported) {
    Json collectives = Json::object();
    for (const ExportedCell& cell : exported.cells) {
        Json& cutoffs = collectives[std::string(name_of(cell.collective))]
                                   [std::to_string(cell.job_shape.ranks)];
        cutoffs = Json::array();
        for (const ExportedRule& rule : cell.rules)
            cutoffs.push_back({{"from", rule.from.count},
                               {"below", rule.end.count},
                               {"use", rule.algorithm ? rule.algorithm->id : "library"}});
    }
    return indented({{"format", "tutti-cutoffs"},
                     {"version", 1},
                     {"gpu", exported.settings.gpu},
                     {"collectives", collectives}});
}

}  // namespace tutti
