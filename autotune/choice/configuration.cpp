// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/configuration.hpp"

#include <fmt/format.h>

#include "results/key.hpp"

namespace tutti {

std::string to_string(const Configuration& c) {
    if (!c.is_ours())
        return c.algorithm.empty() ? c.impl : fmt::format("{}/{}", c.impl, c.algorithm);
    return fmt::format("{}/{}", variant_name(c.algorithm, c.segment, c.radix, c.channels, ""),
                       c.transport);
}

}  // namespace tutti
