// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "cli/build_info.hpp"
#include "cli/options/options.hpp"
#include "results/reader.hpp"

namespace tutti {
namespace {

// Plots are matplotlib's work; the interpreter is Debian's, which has it, unless another one is
// named.
const char* python() {
    const char* chosen = std::getenv("TUTTI_PYTHON");
    if (chosen != nullptr) return chosen;
    return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

int run_script(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[0], argv.data());
        std::fprintf(stderr, "tutti: cannot start %s: %s\n", argv[0], std::strerror(errno));
        _exit(64);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 64;
}

}  // namespace

Exit run_report(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string out = "report.html", title, svg_folder;
    CLI::App app{"Plots and tables of results files in one self-contained page.", "tutti report"};
    app.add_option("files", files, "JSON Lines of 'tutti bench --json'")->required();
    app.add_option("-o,--output", out, "the page")->capture_default_str();
    app.add_option("--title", title, "of the page");
    app.add_option("--svg-dir", svg_folder, "also write each figure into this folder");
    if (parse_or_help(app, arguments)) return Exit::ok;

    for (const auto& file : files)
        for (const auto& warning : read_results(file).warnings)
            fmt::print(stderr, "tutti: warning: {}\n", warning);
    const auto script = scripts_folder() / "report.py";
    if (!std::filesystem::exists(script))
        throw Error("the plotting script is not at " + script.string() +
                    "; set TUTTI_SCRIPTS to its folder");
    std::vector<std::string> words{python(), script.string()};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", out});
    if (!title.empty()) words.insert(words.end(), {"--title", title});
    if (!svg_folder.empty()) words.insert(words.end(), {"--svg-dir", svg_folder});
    const auto code = static_cast<Exit>(run_script(words));
    if (code == Exit::ok) fmt::print("report: {}\n", out);
    return code;
}

}  // namespace tutti
