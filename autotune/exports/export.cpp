// SPDX-License-Identifier: Apache-2.0
#include "autotune/exports/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "autotune/table/range_text.hpp"
#include "base/name_table.hpp"
#include "base/source.hpp"
#include "collectives/planner/route.hpp"

namespace tutti {
namespace {

std::string_view open_mpi_ignores_size(Collective collective) {
    switch (collective) {
        case Collective::scatter:
        case Collective::gather:
            return "its ranks do not all know the size";
        case Collective::scan:
        case Collective::exscan:
            return "it does not look at the size";
        default:
            return "";
    }
}

constexpr std::string_view line_of_open_mpi =
    "export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename={}";
constexpr std::string_view line_of_open_mpi_5 =
    "export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename={} "
    "OMPI_MCA_coll_han_priority=0";
// HAN reads its rules if it has a higher priority than coll/tuned, 30. This is its default, which
// the line for coll/tuned changes.
constexpr std::string_view line_of_han =
    "export OMPI_MCA_coll_han_priority=35 OMPI_MCA_coll_han_use_dynamic_file_rules=1 "
    "OMPI_MCA_coll_han_dynamic_rules_filename={}";

constexpr ExportFormat rows_of_formats[] = {
    {.name = "openmpi4",
     .what = "dynamic rules of Open MPI 4 (coll/tuned)",
     .library = ForeignLibrary::open_mpi,
     .write = write_open_mpi,
     .line = line_of_open_mpi,
     .version = 4,
     .running = "Open MPI 4.",
     .proof = ExportFormat::Proof::errors,
     .ignores_size = open_mpi_ignores_size},
    {.name = "openmpi5",
     .what = "dynamic rules of Open MPI 5",
     .library = ForeignLibrary::open_mpi,
     .write = write_open_mpi,
     .line = line_of_open_mpi_5,
     .version = 5,
     .running = "Open MPI 5.",
     .proof = ExportFormat::Proof::errors,
     .ignores_size = open_mpi_ignores_size},
    {.name = "openmpi6",
     .what = "dynamic rules of Open MPI 6 in JSON",
     .library = ForeignLibrary::open_mpi,
     .write = write_open_mpi_json,
     .line = line_of_open_mpi_5,
     .version = 6,
     .running = "Open MPI 6.",
     .proof = ExportFormat::Proof::reports,
     .has_comments = false,
     .ignores_size = open_mpi_ignores_size},
    {.name = "han",
     .what = "dynamic rules of HAN, which Open MPI 5 and later use across hosts",
     .library = ForeignLibrary::open_mpi_han,
     .write = write_han,
     .line = line_of_han,
     .version = 5,
     .running = "Open MPI ",
     .proof = ExportFormat::Proof::reports},
    {.name = "mpich",
     .what = "MPICH's selection of algorithms in JSON, based on its default (--base)",
     .library = ForeignLibrary::mpich,
     .write = write_mpich,
     .line = "export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={}",
     .running = "MPICH",
     .has_comments = false},
    {.name = "ucc",
     .what = "UCC's score string as an environment variable",
     .library = ForeignLibrary::ucc,
     .write = write_ucc,
     .line = ". {}",
     .running = "UCC ",
     .proof = ExportFormat::Proof::errors},
    {.name = "oneccl",
     .what = "environment variables of oneCCL, for one number of ranks",
     .library = ForeignLibrary::oneccl,
     .write = write_oneccl,
     .line = ". {}"},
    {.name = "intelmpi",
     .what = "environment variables of Intel MPI (I_MPI_ADJUST_...)",
     .library = ForeignLibrary::intel_mpi,
     .write = write_intel_mpi,
     .line = ". {}"},
    // Below, NCCL's protocol decides, which tutti's algorithms do not have.
    {.name = "nccl-csv",
     .what =
         "the CSV file of NCCL's example tuner plugin; tutti's algorithms from 1M on (--channels)",
     .library = ForeignLibrary::nccl,
     .write = write_nccl_csv,
     .line = "export NCCL_TUNER_PLUGIN=example NCCL_TUNER_CONFIG_FILE={}",
     .on_devices = true,
     .has_channels = true,
     .least = {1 << 20},
     .rest = "one channel, as the example plugin sets it; remove '*nChannels = 1;' from its "
             "plugin.c to get NCCL's default"},
    {.name = "ncclx",
     .what = "the CSV file of NCCLX's built-in tuner; tutti's algorithms from 1M on",
     .library = ForeignLibrary::nccl,
     .write = write_ncclx,
     .line = "export NCCLX_TUNER_CONFIG_FILE={}",
     .on_devices = true,
     .refused_ending = ".json",
     .least = {1 << 20}},
    {.name = "mscclpp-cutoffs",
     .what = "a profile for MSCCL++'s tuner in JSON (--gpu)",
     .library = ForeignLibrary::mscclpp,
     .write = write_mscclpp,
     .line = "(the program that tunes MSCCL++ reads {})",
     .has_comments = false,
     .on_devices = true,
     .has_gpu = true,
     .rest = "the first entry also holds for smaller sizes, the last one for larger ones"},
    {.name = "engine-cutoffs",
     .what = "size ranges where one-shot, two-shot or the library is best, in JSON, for inference "
             "engines",
     .library = ForeignLibrary::engine,
     .write = write_engine,
     .line = "(the engine's configuration takes the sizes in {})",
     .has_comments = false,
     .on_devices = true,
     .has_gpu = true},
};

// Collects what a collective's rules cover and why choices were left out.
struct CoverageOfCollective {
    std::set<int> ranks;
    Bytes from{std::numeric_limits<std::int64_t>::max()}, end{0};
    int named = 0, choices = 0;
    std::vector<std::string> left_out;

    void leave_out(std::string why) {
        if (std::ranges::find(left_out, why) == left_out.end()) left_out.push_back(std::move(why));
    }
};

// Returns why the library does not get the choice's algorithm; empty if it does.
std::string objection(const ForeignAlgorithm* algorithm, const Configuration& choice, int ranks,
                      const ExportSettings& settings) {
    const std::string name = short_text(choice);
    if (algorithm == nullptr) return name + " (the library has no such algorithm)";
    using enum ForeignAlgorithm::Trait;
    if (algorithm->trait == reorders && !settings.is_commutative)
        return name +
               " (wrong for operations that do not commute; use --commutative if programs "
               "have none)";
    if (algorithm->library == ForeignLibrary::nccl && !choice.is_ours() &&
        parse_nccl_choice(choice.algorithm).protocol == NcclChoice::by_nccl)
        return name + " (measured without a protocol; use --baseline nccl/all)";
    if (algorithm->trait == needs_power_of_two &&
        !std::has_single_bit(static_cast<unsigned>(ranks)))
        return fmt::format("{} (not on {} ranks)", name, ranks);
    return "";
}

bool is_default_of_library(const Configuration& choice) {
    return !choice.is_ours() && choice.algorithm.empty();
}

const ForeignAlgorithm* foreign_algorithm(const ExportFormat& format, Collective collective,
                                          const Configuration& choice) {
    return foreign_algorithm(format.library, collective, choice, format.version);
}

Bytes least_of(const Configuration& choice, const Export& exported) {
    return choice.is_ours() ? exported.format->least : Bytes{0};
}

// Whether Open MPI's algorithm has a fan-out. Its allgather 2 has one from version 6 on.
bool has_fan_out(const ForeignAlgorithm& algorithm, int version) {
    return algorithm.baseline == "chain" ||
           (algorithm.collective == Collective::reduce && algorithm.baseline == "knomial") ||
           (algorithm.collective == Collective::all_gather && algorithm.id == "2" && version >= 6);
}

ExportedRule rule_for(const SizesOfChoice& sizes, const MeasuredChoices& measured,
                      const Export& exported, CoverageOfCollective& coverage) {
    const Configuration& choice = sizes.choice;
    ExportedRule rule{.from = std::max(sizes.from, least_of(choice, exported)), .end = sizes.end};
    ++coverage.choices;
    if (is_default_of_library(choice)) {
        ++coverage.named;
        return rule;
    }
    const ForeignAlgorithm* algorithm =
        foreign_algorithm(*exported.format, measured.collective, choice);
    if (std::string why = objection(algorithm, choice, measured.job_shape.ranks, exported.settings);
        !why.empty()) {
        coverage.leave_out(std::move(why));
        return rule;
    }
    ++coverage.named;
    rule.algorithm = algorithm;
    rule.segment = choice.segment;
    if (choice.is_ours() && choice.algorithm == "chain" && choice.segment.count == 0)
        rule.segment = segment_on_host;
    if (!choice.is_ours()) rule.fan_out = choice.radix;
    if (!choice.is_ours() && algorithm->library == ForeignLibrary::nccl)
        rule.nccl = parse_nccl_choice(choice.algorithm);
    // The file must name the fan-out: with 0, a chain has one branch, and bruck-k-fanout does not
    // end. Tables that do not name it mean Open MPI's default.
    constexpr int default_fan_out = 4;
    if (algorithm->library == ForeignLibrary::open_mpi && rule.fan_out == 0 &&
        has_fan_out(*algorithm, exported.format->version))
        rule.fan_out = choice.is_ours() ? 2 : default_fan_out;
    return rule;
}

ExportedCell cell_for(const MeasuredChoices& measured, const Export& exported,
                      CoverageOfCollective& coverage) {
    ExportedCell cell{measured.collective, measured.job_shape, {}};
    const int named_before = coverage.named;
    for (const SizesOfChoice& sizes : measured.sizes) {
        if (least_of(sizes.choice, exported) >= sizes.end) continue;
        const ExportedRule rule = rule_for(sizes, measured, exported, coverage);
        if (!cell.rules.empty() && cell.rules.back().end == rule.from &&
            cell.rules.back().agrees_with(rule))
            cell.rules.back().end = rule.end;
        else
            cell.rules.push_back(rule);
        coverage.from = std::min(coverage.from, rule.from);
        coverage.end = std::max(coverage.end, rule.end);
    }
    coverage.ranks.insert(measured.job_shape.ranks);
    const auto ignores_size = exported.format->ignores_size;
    if (const std::string_view why =
            ignores_size == nullptr ? "" : ignores_size(measured.collective);
        !why.empty() && !cell.rules.empty()) {
        if (cell.rules.size() > 1) {
            coverage.leave_out(
                fmt::format("choices by size on {} ranks ({})", measured.job_shape.ranks, why));
            cell.rules.clear();
            coverage.named = named_before;
        } else {
            cell.rules.front().from = {0};
            cell.rules.front().end = {std::numeric_limits<std::int64_t>::max()};
        }
    }
    return cell;
}

std::string note_on(Collective collective, const CoverageOfCollective& coverage) {
    std::string text =
        fmt::format("{} on {} ranks", name_of(collective), fmt::join(coverage.ranks, ", "));
    if (has_buffers(collective) && coverage.from < coverage.end)
        text += fmt::format(", {} to {}", to_string(coverage.from), to_string(coverage.end));
    text += fmt::format(": {} of {} choices written", coverage.named, coverage.choices);
    if (!coverage.left_out.empty())
        text += fmt::format("; left to the library: {}", fmt::join(coverage.left_out, ", "));
    return text;
}

std::string note_on_table(const Table& table, const std::vector<MeasuredChoices>& measured) {
    std::set<std::string> topologies;
    for (const MeasuredChoices& each : measured)
        topologies.insert(printable(short_fingerprint(each.job_shape.topology)));
    return fmt::format("tuned on topology {}{}{}, {} memory", fmt::join(topologies, ", "),
                       table.written.empty() ? "" : ", " + printable(table.written),
                       table.tool.empty() ? "" : ", by " + printable(table.tool),
                       name_of(measured.front().buffers));
}

}  // namespace

std::span<const ExportFormat> export_formats() { return rows_of_formats; }

Export export_of(const Table& table, const ExportFormat& format, const ExportSettings& settings) {
    ExportedPart part = settings.part;
    part.on_devices = format.on_devices;
    std::vector<MeasuredChoices> measured = measured_choices(table, part);
    std::set<int> known_ranks;
    for (const MeasuredChoices& each : measured) known_ranks.insert(each.job_shape.ranks);
    if (settings.ranks != 0)
        std::erase_if(measured, [&](const MeasuredChoices& each) {
            return each.job_shape.ranks != settings.ranks;
        });
    if (measured.empty())
        throw Error(fmt::format("the table has no measured choices for {} ranks; use --ranks {}",
                                settings.ranks, fmt::join(known_ranks, " or ")));
    Export exported{&format, settings, {}, {}};
    std::map<Collective, CoverageOfCollective> coverage;
    for (const MeasuredChoices& each : measured)
        exported.cells.push_back(cell_for(each, exported, coverage[each.collective]));
    exported.notes = {fmt::format("{}: {}", format.name, format.what),
                      note_on_table(table, measured)};
    for (const auto& [collective, one] : coverage)
        exported.notes.push_back(note_on(collective, one));
    exported.notes.push_back(fmt::format("other calls, ranks and sizes: {}", format.rest));
    return exported;
}

namespace {

// Wraps a note. NCCL's example plugin reads lines of at most 255 bytes.
std::string commented(std::string_view note) {
    constexpr std::size_t most = 250;
    std::string text;
    while (note.size() > most) {
        const std::size_t space = note.rfind(' ', most);
        const std::size_t end = space == std::string_view::npos ? most : space;
        text += fmt::format("# {}\n", note.substr(0, end));
        note.remove_prefix(end == space ? end + 1 : end);
    }
    return text + fmt::format("# {}\n", note);
}

}  // namespace

std::string head_of(const Export& exported, const std::string& file) {
    std::string text;
    for (const std::string& note : exported.notes) text += commented(note);
    return text + fmt::format("# job script: {}\n",
                              fmt::format(fmt::runtime(exported.format->line), file));
}

std::string text_of(const Export& exported, const std::string& file) {
    const std::string_view refused = exported.format->refused_ending;
    if (!refused.empty() && file.ends_with(refused))
        throw Error(
            fmt::format("--to {} cannot write a file that ends with {}, which the library "
                        "reads as another format; use another name",
                        exported.format->name, refused));
    const std::string rules = exported.format->write(exported);
    return exported.format->has_comments ? head_of(exported, file) + rules : rules;
}

bool can_express(const ExportFormat& format, Collective collective, const Configuration& choice,
                 int ranks, const ExportSettings& settings) {
    return is_default_of_library(choice) ||
           objection(foreign_algorithm(format, collective, choice), choice, ranks, settings)
               .empty();
}

namespace {

// Returns the variables of a file for a shell's `.`, from its lines "export NAME='VALUE'"; none if
// there is no file.
std::map<std::string, std::string> variables_in(const std::string& file) {
    constexpr std::string_view begin = "export ", middle = "='";
    std::map<std::string, std::string> variables;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto equals = line.find(middle);
        if (!line.starts_with(begin) || equals == line.npos || !line.ends_with('\'')) continue;
        const auto value = equals + middle.size();
        variables[line.substr(begin.size(), equals - begin.size())] =
            line.substr(value, line.size() - 1 - value);
    }
    return variables;
}

}  // namespace

std::map<std::string, std::string> environment_of(const ExportFormat& format,
                                                  const std::string& file) {
    if (format.line.starts_with(". ")) return variables_in(file);
    std::map<std::string, std::string> variables;
    std::istringstream words{std::string(format.line)};
    for (std::string word; words >> word;)
        if (const auto equals = word.find('='); equals != word.npos)
            variables[word.substr(0, equals)] =
                fmt::format(fmt::runtime(word.substr(equals + 1)), file);
    return variables;
}

std::vector<ExportedRule> named_rules(const ExportedCell& cell) {
    std::vector<ExportedRule> rules;
    for (const ExportedRule& rule : cell.rules)
        if (rule.algorithm != nullptr) rules.push_back(rule);
    return rules;
}

bool is_open_ended(const ExportedRule& rule) {
    return rule.end.count == std::numeric_limits<std::int64_t>::max();
}

}  // namespace tutti
