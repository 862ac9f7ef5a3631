// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"
#include "cli/options/options.hpp"
#include "cli/script.hpp"

namespace tutti {

// The script reads the words once more; here they are explained and refused as everywhere.
Exit run_check_guidelines(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string library, candidates, format = "text";
    double tolerance = 0;
    CLI::App app{
        "Whether a collective takes longer than others that do the same, as all_reduce than "
        "reduce_scatter and all_gather. Exit code 1: a guideline is violated; 3: nothing could be "
        "checked.",
        "tutti check-guidelines"};
    app.add_option("files", files, "JSON Lines of 'tutti bench --json'")->required();
    auto* only = app.add_option("--library", library,
                                "only this library, by its own choice of algorithms; else every "
                                "library, auto and best");
    app.add_option("--candidates", candidates,
                   "only these of tutti, a list: auto, best (the fastest algorithm of each size), "
                   "ring, 'tree (shm)'")
        ->excludes(only);
    app.add_option_function<std::string>(
           "--tolerance", [&](const std::string& typed) { tolerance = parse_fraction(typed); },
           "so much longer is no violation")
        ->default_str("5%");
    app.add_option("--format", format, "text, json or markdown")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json", "markdown"}));
    if (parse_or_help(app, arguments)) return Exit::ok;
    return run_script("guidelines.py", arguments, CodeOne::verdict);
}

}  // namespace tutti
