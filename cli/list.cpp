// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/collective_form.hpp"
#include "cli/build_info.hpp"
#include "cli/options/options.hpp"
#include "cli/provenance.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/transport/table/transports.hpp"
#include "topology/meters/energy_meters.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {
namespace {

using nlohmann::json;

// A row of any table.
struct ListedRow {
    std::string name, what;
    std::optional<std::string> missing;
    std::vector<std::string> takes = {};  // options that the algorithm uses
};

std::vector<std::string> taken_by(const Algorithm& row) {
    std::vector<std::string> options;
    for (const Knob& knob : knobs)
        if (row.takes(knob)) options.emplace_back(knob.name);
    if (row.hierarchical) options.emplace_back("nodes");
    if (!row.is_default) options.emplace_back("by name");
    return options;
}

// Lists rows of a table; some kinds of rows may be missing from a build.
template <class Row>
std::vector<ListedRow> entries_of(std::span<const Row> rows) {
    std::vector<ListedRow> entries;
    for (const Row& row : rows) {
        entries.push_back({std::string(row.name), std::string(row.what), std::nullopt});
        if constexpr (requires { row.missing(); }) entries.back().missing = row.missing();
    }
    return entries;
}

std::vector<ListedRow> entries_of_algorithms(Collective collective) {
    std::vector<ListedRow> entries;
    for (const Algorithm* row : algorithms_of(collective))
        entries.push_back(
            {std::string(row->name), std::string(row->idea), std::nullopt, taken_by(*row)});
    return entries;
}

std::vector<ListedRow> energy_meters() {
    const EnergyMeters meters;
    std::vector<ListedRow> entries;
    for (const EnergyMeter& meter : meters.all())
        entries.push_back({meter.name,
                           meter.of == EnergyMeter::Of::gpu ? "by NVIDIA's driver" : "by RAPL",
                           std::nullopt});
    if (const auto& missing = meters.packages_missing())
        entries.push_back({"packages", "by RAPL", missing});
    return entries;
}

void print_entries(const std::vector<ListedRow>& entries) {
    for (const ListedRow& entry : entries)
        fmt::print("  {:<20}{}{}{}\n", entry.name, entry.what,
                   entry.takes.empty() ? "" : fmt::format(" [{}]", fmt::join(entry.takes, ", ")),
                   entry.missing ? "   MISSING: " + *entry.missing : "");
}

// Returns the name of the form with lengths, which has the same algorithms.
std::string with_lengths(Collective collective) {
    return name_of(CollectiveForm{collective, true});
}

void print_text() {
    for (const Collective collective : all_collectives()) {
        fmt::print("{}{}\n", name_of(collective),
                   has_blocks(collective) ? ", " + with_lengths(collective) : "");
        print_entries(entries_of_algorithms(collective));
    }
    fmt::print("transports\n");
    print_entries(entries_of(transports()));
    fmt::print("baselines\n");
    print_entries(entries_of(baselines()));
    fmt::print("workloads\n");
    print_entries(entries_of(workloads()));
    fmt::print("GPUs\n");
    for (const auto& line : describe_gpus()) fmt::print("  {}\n", line);
    fmt::print("energy meters\n");
    print_entries(energy_meters());
}

// Returns the number of steps, and the vectors that the busiest rank sends or receives, with the
// default parameters and 4 ranks on each node; "-" if the algorithm does not support these ranks.
std::string cost_of(const Algorithm& algorithm, int ranks) {
    constexpr int ranks_of_node = 4;
    const Job job{.collective = algorithm.collective,
                  .ranks = ranks,
                  .placement = Placement::in_nodes_of(ranks, ranks_of_node)};
    if (algorithm.refuses(job)) return "-";
    const Counts counts = count(algorithm.build(job), {job.collective, ranks});
    return fmt::format("{}, {:.3g}", counts.steps, counts.busiest());
}

void print_markdown() {
    const auto table = [](const char* first, const std::vector<ListedRow>& entries) {
        fmt::print("| {} | idea |\n|---|---|\n", first);
        for (const ListedRow& entry : entries)
            fmt::print("| `{}` | {} |\n", entry.name, entry.what);
        fmt::print("\n");
    };
    for (const Collective collective : all_collectives()) {
        fmt::print("## {}\n\n", name_of(collective));
        if (has_blocks(collective))
            fmt::print("Also as `{}`, with blocks of different lengths.\n\n",
                       with_lengths(collective));
        fmt::print("| algorithm | idea | takes | 8 ranks | 12 ranks |\n|---|---|---|---|---|\n");
        for (const Algorithm* row : algorithms_of(collective))
            fmt::print("| `{}` | {} | {} | {} | {} |\n", row->name, row->idea,
                       fmt::join(taken_by(*row), ", "), cost_of(*row, 8), cost_of(*row, 12));
        fmt::print("\n");
    }
    fmt::print("## Transports\n\n");
    table("transport", entries_of(transports()));
    fmt::print("## Baselines\n\n");
    table("baseline", entries_of(baselines()));
    fmt::print("## Workloads\n\n");
    table("workload", entries_of(workloads()));
}

json to_json(const std::vector<ListedRow>& entries) {
    json all = json::array();
    for (const ListedRow& entry : entries) {
        json one{{"name", entry.name}, {"what", entry.what}};
        if (entry.missing) one["missing"] = *entry.missing;
        if (!entry.takes.empty()) one["takes"] = entry.takes;
        all.push_back(one);
    }
    return all;
}

// The Python module names and reads records by these.
json knobs_as_json() {
    json all = json::array();
    for (const Knob& knob : knobs)
        all.push_back({{"name", knob.name},
                       {"key", knob.key_name},
                       {"what", knob.what},
                       {"default", knob.default_value},
                       {"is_size", knob.is_size()},
                       {"form", knob.form == KnobForm::set    ? "set"
                                : knob.form == KnobForm::list ? "list"
                                                              : "number"},
                       {"words", knob.words()},
                       {"mark", knob.mark},
                       {"letter", knob.letter},
                       {"legend", knob.legend}});
    return all;
}

void print_json() {
    json all{{"version", version()}};
    for (const CollectiveForm& form : all_collective_forms())
        all["algorithms"][name_of(form)] = to_json(entries_of_algorithms(form.collective));
    all["knobs"] = knobs_as_json();
    all["transports"] = to_json(entries_of(transports()));
    all["baselines"] = to_json(entries_of(baselines()));
    all["workloads"] = to_json(entries_of(workloads()));
    all["gpus"] = describe_gpus();
    all["energy_meters"] = to_json(energy_meters());
    fmt::print("{}\n", all.dump(2));
}

}  // namespace

Exit run_list(const Arguments& arguments) {
    bool markdown = false, as_json = false;
    CLI::App app{"Lists what this build contains, and why something is missing.", "tutti list"};
    app.add_flag("--markdown", markdown, "Markdown, as in docs/reference/algorithms.md");
    app.add_flag("--json", as_json, "Print the list as JSON");
    if (parse_or_help(app, arguments)) return Exit::ok;
    if (as_json)
        print_json();
    else if (markdown)
        print_markdown();
    else
        print_text();
    return Exit::ok;
}

}  // namespace tutti
