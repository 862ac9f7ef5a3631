// SPDX-License-Identifier: Apache-2.0
#include "autotune/exports/export.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "autotune/table/table_json.hpp"
#include "base/output.hpp"
#include "cli/check_rules.hpp"
#include "cli/options/options.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

struct ExportOptions {
    std::string table_file, output_file;
    const ExportFormat* format = nullptr;
    ExportSettings settings;
    bool checks = false;
    std::string launcher;
    std::string probe;  ///< part of a rank that --check started; empty: none
    RunPlan plan;
};

OneOf<const ExportFormat*> format_of_name() {
    OneOf<const ExportFormat*> parse{"--to", {}};
    for (const ExportFormat& format : export_formats())
        parse.known.emplace_back(format.name, &format);
    return parse;
}

std::optional<ExportOptions> parse_export(const Arguments& arguments) {
    ExportOptions options;
    ExportSettings& settings = options.settings;
    std::string base_file;
    CLI::App app{
        "Writes the choices of a tuning table as the file that another library reads. Choices "
        "without measurements, and algorithms that the library lacks, are left to the library.",
        "tutti export"};
    const OptionGroup file{app, "File"}, choices{app, "Choices"};
    file.text("table", options.table_file, "Table of 'tutti tune'")->required();
    file.parsed("--to", options.format, "", format_of_name(),
                "Library and form of the file (see docs/how-to/tuning_libraries.md)")
        ->required();
    file.text("-o,--output", options.output_file,
              "File to write; without it, the text goes to stdout and the notes to stderr");
    file.text("--base", base_file,
              "MPICH's libmpich.so, or its selection in JSON, to which the rules are added");
    choices.text("--topology", settings.part.topology,
                 "Beginning of the topology's fingerprint, if the table has several");
    choices.number("--ranks", settings.ranks, 1, 1 << 24, "Only choices for this number of ranks");
    choices.parsed(
        "--buffers", settings.part.buffers, "",
        [](const std::string& typed) {
            BufferKind kind{};
            parse_name(typed, kind);
            return std::optional(kind);
        },
        "Kind of memory whose choices are used (default: unregistered, else registered; device "
        "for GPU libraries)");
    choices.flag("--commutative", settings.is_commutative,
                 "Programs have no reduction operations that do not commute: also use algorithms "
                 "that are wrong for these");
    choices.number("--channels", settings.channels, 1, 64, "Number of channels for nccl-csv");
    choices.text("--gpu", settings.gpu,
                 "Name of the GPU as the device reports it, e.g. 'NVIDIA H200'; for "
                 "mscclpp-cutoffs and engine-cutoffs");
    const OptionGroup check{app, "Check"}, hidden{app, ""};
    check.flag("--check", options.checks,
               "Run Open MPI or UCC with the rules and report whether it obeys each one; exit "
               "code 1 if not");
    check.text("--launcher", options.launcher,
               "Command that starts the ranks of --check, e.g. 'mpirun -n 4'");
    hidden.text("--probe", options.probe, "Part of a rank that --check started");
    if (parse_or_help(app, arguments)) return std::nullopt;
    options.plan = plan_of("export", app, arguments);
    if (settings.channels != 0 && !options.format->has_channels)
        throw Error("--channels works only with --to nccl-csv");
    if (!settings.gpu.empty() && !options.format->has_gpu)
        throw Error("--gpu works only with --to mscclpp-cutoffs or engine-cutoffs");
    if (!options.launcher.empty() && !options.checks && options.probe.empty())
        throw Error("--launcher works only with --check");
    if (options.output_file == "-") options.output_file.clear();
    if (!base_file.empty()) {
        if (options.format->library != ForeignLibrary::mpich)
            throw Error("--base works only with --to mpich");
        settings.base = mpich_selection_of(base_file);
    }
    return options;
}

}  // namespace

Exit run_export(const Arguments& arguments) {
    const auto options = parse_export(arguments);
    if (!options) return Exit::ok;
    if (launcher().rank > 0 && options->probe.empty()) return Exit::ok;  // rank 0 does it
    const Export exported =
        export_of(read_choices(options->table_file), *options->format, options->settings);
    if (!options->probe.empty()) return probe_rules(exported, options->probe);
    const auto checked = [&] {
        const RulesCheck check = check_rules(exported, options->launcher, options->plan);
        fmt::print("{}", check.text);
        return check.is_obeyed ? Exit::ok : Exit::regression;
    };
    const std::string& file = options->output_file;
    if (options->checks && file.empty()) return checked();
    if (file.empty()) {  // the notes must not mix with JSON
        const std::string rules = exported.format->write(exported);
        fmt::print(stderr, "{}", head_of(exported, "FILE"));
        fmt::print("{}", rules);
        return Exit::ok;
    }
    const std::string path = std::filesystem::absolute(file).lexically_normal().string();
    replace_file(file, text_of(exported, path), "the exported table");
    fmt::print("{}", head_of(exported, path));
    return options->checks ? checked() : Exit::ok;
}

}  // namespace tutti
