// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/name_table.hpp"
#include "cli/options/options.hpp"
#include "cli/script.hpp"
#include "results/records/record.hpp"

namespace tutti {
namespace {

// What is typed behind the name of a verb; the script reads the words once more.
struct ResultsWords {
    std::string database = "results.sqlite", id, query, csv;
    std::vector<std::string> files;
};

struct ResultsVerb {
    std::string_view name;
    std::string_view what;
    void (*add_words)(CLI::App& app, ResultsWords& words);
};

constexpr const char* query_help =
    "SQL, or a condition of points such as \"coll = 'all_reduce' and bytes >= 1M\"";

constexpr ResultsVerb results_verbs[] = {
    {"import", "add the records of results files; those that are there are left as they are",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("files", words.files, "JSON Lines of --json")->required();
     }},
    {"list", "the sessions, with their launches and points", [](CLI::App&, ResultsWords&) {}},
    {"show", "a session, or a point in all launches",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("id", words.id, "the beginning of a session's, or a point's")->required();
     }},
    {"query", "what an SQL statement finds, or the points for which a condition holds",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("query", words.query, query_help)->required();
     }},
    {"export", "the same as a CSV table; without a query all points",
     [](CLI::App& app, ResultsWords& words) {
         app.add_option("query", words.query, query_help);
         app.add_option("--csv", words.csv, "the table; - is stdout")->required();
     }},
    {"schema", "the JSON Schema of results files", nullptr},
};

bool asks_for_help(const Arguments& arguments) {
    return !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
}

void print_results_help() {
    fmt::print(
        "The records of many results files in one SQLite database.\n"
        "usage: tutti results [OPTIONS] VERB ...   (tutti results VERB --help lists its "
        "options)\n\n");
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
            "which of import, list, show, query, export, schema? Type for example: tutti results "
            "import run.jsonl; see 'tutti results --help'");
    // Copied: GCC 14 warns of a reference.
    const ResultsVerb verb = find_row(results_verbs, "verb of 'tutti results'", arguments[0]);
    ResultsWords words;
    CLI::App app{std::string(verb.what), "tutti results " + std::string(verb.name)};
    if (verb.add_words != nullptr) {
        verb.add_words(app, words);
        app.add_option("--db", words.database, "the database")->capture_default_str();
    }
    if (parse_or_help(app, {arguments.begin() + 1, arguments.end()})) return Exit::ok;
    if (verb.add_words != nullptr) return run_script("results.py", arguments);
    fmt::print("{}\n", json_schema());
    return Exit::ok;
}

}  // namespace tutti
