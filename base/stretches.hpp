// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <span>
#include <vector>

namespace tutti {

/// Cuts the list into runs: an element joins a run if `alike(first of the run, element)`.
template <class T, class Alike>
std::vector<std::span<const T>> stretches(std::span<const T> all, const Alike& alike) {
    std::vector<std::span<const T>> parts;
    while (!all.empty()) {
        const auto rest = all.subspan(1);
        const auto end =
            std::ranges::find_if(rest, [&](const T& one) { return !alike(all.front(), one); });
        const auto length = static_cast<std::size_t>(1 + (end - rest.begin()));
        parts.push_back(all.first(length));
        all = all.subspan(length);
    }
    return parts;
}

}  // namespace tutti
