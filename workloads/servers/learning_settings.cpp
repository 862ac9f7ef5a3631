// SPDX-License-Identifier: Apache-2.0
#include "workloads/servers/learning_settings.hpp"

#include <fmt/format.h>

#include "base/name_table.hpp"

namespace tutti {

const NetworkKind& network_of(const Settings& asked) {
    std::vector<std::string> names;
    for (const NetworkKind& kind : all_networks()) {
        if (asked.text("network") == kind.name) return kind;
        names.emplace_back(kind.name);
    }
    throw Error(unknown_name("network", asked.text("network"), names));
}

int epochs_of(const Settings& asked) {
    if (asked.text("epochs") == "auto") return network_of(asked).epochs;
    return static_cast<int>(asked.number("epochs", 1, 100000));
}

const OptimizerKind& optimizer_of(const Settings& asked) {
    return find_optimizer(asked.text("optimizer"));
}

double learning_rate_of(const Settings& asked, double usual) {
    return asked.text("learning-rate") == "auto" ? usual : asked.real("learning-rate", 1e-9, 1000);
}

}  // namespace tutti
