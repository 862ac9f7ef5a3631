// SPDX-License-Identifier: Apache-2.0
#include "autotune/configuration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace tutti {

std::string to_string(const Configuration& configuration) {
    const Configuration& c = configuration;
    if (!c.is_ours())
        return c.algorithm.empty() ? c.impl : fmt::format("{}/{}", c.impl, c.algorithm);
    std::vector<std::string> details;
    if (c.segment.count > 0) details.push_back(fmt::format("segment {}", to_string(c.segment)));
    if (c.radix > 0) details.push_back(fmt::format("radix {}", c.radix));
    if (c.channels > 1) details.push_back(fmt::format("{} channels", c.channels));
    return fmt::format("{}/{}{}{}", c.algorithm, c.transport, details.empty() ? "" : " ",
                       fmt::join(details, ", "));
}

}  // namespace tutti
