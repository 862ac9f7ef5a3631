// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/script.hpp"
#include "results/records/reader.hpp"

namespace tutti {

namespace {

// Options of scripts/report.py, which takes the values as they are.
struct HandedOn {
    const char* name;
    const char* help;
    bool replaces_page = false;  // then there is a page only if -o asks for it
};
constexpr HandedOn handed_on[] = {
    {"--title", "of the page"},
    {"--figures", "write each figure into this folder, with its data and its commands", true},
    {"--format", "of the figures: svg,pdf,png"},
    {"--style", "of the figures: screen, or paper (3.5 inches wide, 8 pt, no titles)"},
    {"--only", "figures with one of these in their name: ratio,latency,decisions"},
    {"--candidates", "algorithms, with or without transport, and libraries: ring,tree/shm,mpi"},
    {"--sizes", "sizes and ranges: 8,4K..1M"},
    {"--artifact", "write a paper's artifact description into this folder", true},
    {"--svg-dir", "the older word for --figures"},
};

}  // namespace

// Plots are matplotlib's work.
Exit run_report(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string out = "report.html";
    std::array<std::string, std::size(handed_on)> values;
    CLI::App app{"Plots and tables of results files in one self-contained page.", "tutti report"};
    app.add_option("files", files, "JSON Lines of 'tutti bench --json'")->required();
    const CLI::Option* page = app.add_option("-o,--output", out, "the page")->capture_default_str();
    for (std::size_t i = 0; i < values.size(); ++i)
        app.add_option(handed_on[i].name, values[i], handed_on[i].help);
    if (parse_or_help(app, arguments)) return Exit::ok;

    for (const auto& file : files)
        for (const auto& warning : read_results(file).warnings)
            fmt::print(stderr, "tutti: warning: {}\n", warning);
    Arguments words;  // what was typed may begin with a dash
    bool has_page = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].empty()) continue;
        words.push_back(std::string(handed_on[i].name) + "=" + values[i]);
        if (handed_on[i].replaces_page) has_page = page->count() > 0;
    }
    if (has_page) words.push_back("--output=" + out);
    words.push_back("--");
    words.insert(words.end(), files.begin(), files.end());
    const Exit code = run_script("report.py", words);
    if (code == Exit::ok && has_page) fmt::print("report: {}\n", out);
    return code;
}

}  // namespace tutti
