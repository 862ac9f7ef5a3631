// SPDX-License-Identifier: Apache-2.0
#include "cli/options/options.hpp"
#include "cli/script.hpp"

namespace tutti {

// The script reads the words once more; here they are explained and refused as everywhere.
Exit run_history(const Arguments& arguments) {
    std::string metric, database, output, machine;
    std::vector<std::string> files;
    double level = 0.01;
    int permutations = 499;
    std::uint64_t seed = 1;
    CLI::App app{
        "One metric over the launches of one machine and settings, and where it changed. What it "
        "says is information, never a verdict: that is 'tutti compare'.",
        "tutti history"};
    app.add_option("metric", metric, "as 'tutti compare' names it, or a part of its name")
        ->required();
    app.add_option("files", files, "JSON Lines of --json");
    app.add_option("--db", database, "of 'tutti results import', in place of files");
    app.add_option("-o,--output", output, "also draw it: FILE.svg or FILE.png");
    app.add_option("--machine", machine,
                   "which machine and settings, by the beginning of its name in the output; else "
                   "that of the newest launch");
    app.add_option("--level", level, "of the test: the share of false change points")
        ->capture_default_str()
        ->check(CLI::Range(0.0001, 0.5));
    app.add_option("--permutations", permutations, "of the test")
        ->capture_default_str()
        ->check(CLI::Range(9, 1'000'000));
    app.add_option("--seed", seed, "of the permutations")->capture_default_str();
    if (parse_or_help(app, arguments)) return Exit::ok;
    return run_script("history.py", arguments);
}

}  // namespace tutti
