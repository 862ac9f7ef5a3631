// SPDX-License-Identifier: Apache-2.0
#include "results/limits_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/replace_file.hpp"
#include "results/reader.hpp"

namespace tutti {
namespace {

std::optional<std::filesystem::path> folder_in(const char* variable) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') return std::nullopt;
    return folder;
}

// What Rates::at relies on.
bool make_sense(const Rates& rates) {
    const auto positive = [](double number) { return number > 0; };
    return rates.bytes.size() == rates.gbps.size() && std::ranges::is_sorted(rates.bytes) &&
           std::ranges::all_of(rates.gbps, positive) &&
           (rates.empty() || rates.bytes.front() > Bytes{0});
}

// What least times are derived from is there, of one core and of all.
bool is_complete(const Limits& limits) {
    for (const char* pass : {"copy", "add", "add2", "add_in_place", "add2_in_place"})
        for (const int cores : {1, limits.cores})
            if (limits.curve(pass, "cached", cores) == nullptr) return false;
    return true;
}

bool make_sense(const Limits& limits) {
    return limits.cores >= 1 && is_complete(limits) && make_sense(limits.staged) &&
           make_sense(limits.single_copy) &&
           std::ranges::all_of(limits.curves, [](const Curve& curve) {
               return !curve.rates.empty() && make_sense(curve.rates);
           });
}

}  // namespace

std::optional<std::filesystem::path> limits_path(const std::string& fingerprint) {
    auto cache = folder_in("XDG_CACHE_HOME");
    if (!cache) cache = folder_in("HOME");
    if (!cache) return std::nullopt;
    if (!folder_in("XDG_CACHE_HOME")) *cache /= ".cache";
    return *cache / "tutti" / ("limits-" + fingerprint + ".json");
}

Limits read_limits(const std::filesystem::path& path) {
    const Results results = read_results(path);
    if (results.limits.empty())
        throw Error(
            fmt::format("'{}' holds no limits; type: tutti limits --json FILE", path.string()));
    if (!make_sense(results.limits.back()))
        throw Error(fmt::format("'{}' holds limits that cannot be", path.string()));
    return results.limits.back();
}

void keep_limits(const Limits& limits, const std::filesystem::path& path) {
    replace_file(path, to_json_line(limits) + '\n', "the limits");
}

}  // namespace tutti
