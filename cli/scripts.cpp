// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "base/units.hpp"
#include "cli/options/options.hpp"
#include "cli/script.hpp"
#include "results/records/reader.hpp"
#include "results/records/record.hpp"

namespace tutti {

namespace {

// Options that are passed to scripts/report.py unchanged.
struct HandedOn {
    const char* name;
    const char* help;
    bool replaces_page = false;  // then the page is written only with -o
    bool repeats = false;
};
constexpr HandedOn handed_on[] = {
    {"--title", "Title of the page"},
    {"--figures", "Folder for each figure with its data and commands", true},
    {"--format", "Formats of the figures: svg,pdf,png"},
    {"--style", "Style of the figures: screen, or paper (3.5 inches wide, 8 pt, no titles)"},
    {"--columns",
     "Width of all figures in columns of the page: 1 or 2 (default: 1, or 2 for maps, heat maps "
     "and spread)"},
    {"--width", "Width of all figures: 3.4in, 86mm or 246pt"},
    {"--height", "Height of all figures, with legend: 2in, 50mm or 144pt"},
    {"--dpi", "Dots per inch of PNG files (default 150; paper 300)"},
    {"--font", "Font of the figures (default DejaVu Sans)"},
    {"--legend",
     "Place of the legend: auto (names at the ends of curves if there is room, else below), "
     "inside, right, below or none (default below; paper auto)"},
    {"--only", "Only figures whose names contain one of these texts, e.g. ratio,multiples"},
    {"--candidates",
     "Only these candidates: algorithms with or without transport, and libraries: "
     "ring,tree/shm,mpi"},
    {"--sizes", "Only these sizes and ranges: 8,4K..1M"},
    {"--rename",
     "Name of an algorithm, transport or library in figures and tables, OLD=NEW; repeatable", false,
     true},
    {"--machine-name", "Name of a setup in figures and tables, LETTER=NAME; repeatable", false,
     true},
    {"--artifact", "Folder for the artifact description of a paper", true},
    {"--svg-dir", "Old name of --figures"},
};

}  // namespace

// The plots are drawn by matplotlib in a script.
Exit run_report(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string out = "report.html";
    std::array<std::vector<std::string>, std::size(handed_on)> values;
    bool no_warnings = false;
    CLI::App app{"Writes a self-contained page with plots and tables of results files.",
                 "tutti report"};
    app.add_option("files", files, "Results files of bench, workload or compare (--json)")
        ->required();
    const CLI::Option* page =
        app.add_option("-o,--output", out, "File of the page")->capture_default_str();
    for (std::size_t i = 0; i < values.size(); ++i) {
        CLI::Option* option = app.add_option(handed_on[i].name, values[i], handed_on[i].help);
        option->expected(1)->allow_extra_args(false);
        if (handed_on[i].repeats) option->take_all();
    }
    app.add_flag(
        "--no-warnings", no_warnings,
        "Omit the line of warnings and the tinted background; NAME.txt still lists warnings");
    if (parse_or_help(app, arguments)) return Exit::ok;

    for (const auto& file : files)
        for (const auto& warning : read_results(file).warnings)
            fmt::print(stderr, "tutti: warning: {}\n", warning);
    Arguments words;  // uses "=" because values may begin with a dash
    bool has_page = true;
    for (std::size_t i = 0; i < values.size(); ++i)
        for (const auto& value : values[i]) {
            if (value.empty()) continue;
            words.push_back(std::string(handed_on[i].name) + "=" + value);
            if (handed_on[i].replaces_page) has_page = page->count() > 0;
        }
    if (no_warnings) words.emplace_back("--no-warnings");
    if (has_page) words.push_back("--output=" + out);
    words.push_back("--");
    words.insert(words.end(), files.begin(), files.end());
    const Exit code = run_script("report.py", words);
    if (code == Exit::ok && has_page) fmt::print("report: {}\n", out);
    return code;
}

Exit run_ci_guard(const Arguments& arguments) {
    std::string base, build, program;  // the script parses them again
    CLI::App app{
        "Checks whether this commit is slower than another. Run it in a checkout of the "
        "project.\ntutti ci-guard BASE [--build COMMAND] [--program COMMAND] [OPTIONS OF COMPARE] "
        "[-- bench ...]: copies BASE and the current checkout with its uncommitted changes into "
        "temporary folders, builds both from scratch, and runs 'tutti compare', whose exit code it "
        "returns.",
        "tutti ci-guard"};
    app.add_option("base", base, "Commit, branch or tag to compare with")->required();
    app.add_option("--build", build,
                   "Build command, run in each folder (default: the build of tutti itself)");
    app.add_option("--program", program,
                   "Program that prints times, run in each folder; needs --metric of compare "
                   "(default: build/tutti with the command after two dashes)");
    app.allow_extras();
    if (parse_or_help(app, arguments)) return Exit::ok;
    return run_script("ci_guard", arguments, CodeOne::verdict);
}

namespace {

// The arguments of a verb. The script parses them again.
struct ResultsWords {
    std::string database = "results.sqlite", id, query, csv, parquet;
    std::vector<std::string> files;
};

struct ResultsVerb {
    std::string_view name;
    std::string_view what;
    void (*add_words)(CLI::App& app, ResultsWords& words);
};

constexpr const char* query_help =
    "SQL, or a condition for points such as \"coll = 'all_reduce' and bytes >= 1M\"";

constexpr ResultsVerb results_verbs[] = {
    {"import", "Add the records of results files; sessions that are already stored stay unchanged",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("files", words.files, "Results files written by --json")->required();
     }},
    {"list", "List the sessions with their launches and points", [](CLI::App&, ResultsWords&) {}},
    {"show", "Show a session, or a point in all launches",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("id", words.id, "Beginning of the id of a session or point")->required();
     }},
    {"query", "Print the result of an SQL statement, or the points that meet a condition",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("query", words.query, query_help)->required();
     }},
    {"export", "Write the result of a query as a CSV or Parquet table (default: all points)",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("query", words.query, query_help);
         app.add_option("--csv", words.csv, "CSV file; - is stdout");
         app.add_option("--parquet", words.parquet,
                        "Parquet file; needs the Python module pyarrow");
     }},
    {"schema", "Print the JSON Schema of results files", nullptr},
};

bool asks_for_help(const Arguments& arguments) {
    return !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
}

void print_results_help() {
    fmt::print(
        "Manages the records of many results files in one SQLite database.\nusage: tutti results "
        "[OPTIONS] VERB ...   (tutti results VERB --help lists its options)\n\n");
    for (const ResultsVerb& verb : results_verbs) fmt::print("  {:<8}{}\n", verb.name, verb.what);
    fmt::print("\nexample: tutti results import *.jsonl --db results.sqlite\n");
}

}  // namespace

Exit run_results(const Arguments& arguments) {
    if (completes_first_of(results_verbs, arguments)) return Exit::ok;
    if (asks_for_help(arguments)) {
        print_results_help();
        return Exit::ok;
    }
    if (arguments.empty())
        throw Error(
            "no verb given; use import, list, show, query, export or schema, for example: tutti "
            "results import run.jsonl; see 'tutti results --help'");
    // A copy, as GCC 14 warns about a reference.
    const ResultsVerb verb = find_row(results_verbs, "verb of 'tutti results'", arguments[0]);
    ResultsWords words;
    CLI::App app{std::string(verb.what), "tutti results " + std::string(verb.name)};
    if (verb.add_words != nullptr) {
        verb.add_words(app, words);
        app.add_option("--db", words.database, "Database file")->capture_default_str();
    }
    if (parse_or_help(app, {arguments.begin() + 1, arguments.end()})) return Exit::ok;
    if (verb.add_words != nullptr) return run_script("results.py", arguments);
    fmt::print("{}\n", json_schema());
    return Exit::ok;
}

}  // namespace tutti
