// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/options/options.hpp"
#include "cli/ranks/launcher.hpp"
#include "cli/script.hpp"
#include "results/reader.hpp"

namespace tutti {

// Plots are matplotlib's work.
Exit run_report(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string out = "report.html", title, svg_folder;
    CLI::App app{"Plots and tables of results files in one self-contained page.", "tutti report"};
    app.add_option("files", files, "JSON Lines of 'tutti bench --json'")->required();
    app.add_option("-o,--output", out, "the page")->capture_default_str();
    app.add_option("--title", title, "of the page");
    app.add_option("--svg-dir", svg_folder, "also write each figure into this folder");
    if (parse_or_help(app, arguments) || launcher().rank != 0) return Exit::ok;

    for (const auto& file : files)
        for (const auto& warning : read_results(file).warnings)
            fmt::print(stderr, "tutti: warning: {}\n", warning);
    Arguments words = files;
    words.insert(words.end(), {"-o", out});
    if (!title.empty()) words.insert(words.end(), {"--title", title});
    if (!svg_folder.empty()) words.insert(words.end(), {"--svg-dir", svg_folder});
    const Exit code = run_script("report.py", words);
    if (code == Exit::ok) fmt::print("report: {}\n", out);
    return code;
}

}  // namespace tutti
