// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/options.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {

/// An option whose value is a text; its default, if it has one, is shown by --help.
CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& what, const std::string& group);

/// How ranks are started, in every command that times them: --pin, -T and --ranks, as typed.
struct RankWords {
    std::string pin = "auto", hang_timeout = "30s";
    int ranks = 0;

    /// The first two into the group of this name.
    void declare(CLI::App& app, const std::string& group);
    /// Both throw Error, one line that says what to type instead.
    bool pins() const;
    RankOptions options(const std::string& results_file) const;
};

}  // namespace tutti
