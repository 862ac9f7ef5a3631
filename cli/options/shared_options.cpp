// SPDX-License-Identifier: Apache-2.0
#include "cli/options/shared_options.hpp"

#include "cli/options/typed_values.hpp"

namespace tutti {

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& what, const std::string& group) {
    auto* option = app.add_option(names, value, what)->group(group);
    return value.empty() ? option : option->capture_default_str();
}

void RankWords::declare(CLI::App& app, const std::string& group) {
    add_text(app, "--pin", pin, "ranks to cores, evenly: auto (unless the launcher has), no",
             group);
    add_text(app, "-T,--timeout,--hang-timeout", hang_timeout, "give up on a rank after", group);
    app.add_option("--ranks", ranks, "without mpirun: so many threads")
        ->group("Ranks")
        ->check(CLI::Range(1, 1024));
}

bool RankWords::pins() const { return word<bool>("--pin", pin, {{"auto", true}, {"no", false}}); }

RankOptions RankWords::options(const std::string& results_file) const {
    RankOptions options;
    options.hang_timeout = timeout_of(hang_timeout);
    if (ranks > 0) options.threads = ranks;
    options.results_file = results_file;
    return options;
}

}  // namespace tutti
