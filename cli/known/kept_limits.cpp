// SPDX-License-Identifier: Apache-2.0
#include "cli/known/kept_limits.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"

namespace tutti {

std::string in_words_of_taken(double share) {
    return fmt::format("others had {:.0f} % of the cores", 100 * share);
}

std::string keep_for_later(Limits limits) {
    const auto path = limits_path(limits.topo_sha256);
    if (!path) return "not kept: neither XDG_CACHE_HOME nor HOME is set";
    limits.network.reset();
    std::optional<Limits> before;
    if (std::filesystem::exists(*path)) try {
            before = read_limits(*path);
        } catch (const Error&) {  // what cannot be read is replaced
        }
    const auto best = limits_to_keep(limits, before);
    if (!best)
        return "not kept; type 'tutti limits' when the others are done, or with --keep-anyway";
    keep_limits(*best, *path);
    return fmt::format(
        "kept in {}{}", path->string(),
        before ? ", with what was better in earlier runs (remove the file to begin anew)" : "");
}

}  // namespace tutti
