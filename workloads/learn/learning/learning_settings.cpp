// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/learning/learning_settings.hpp"

namespace tutti {

const NetworkKind& network_of(const Settings& asked) { return find_network(asked.text("network")); }

int epochs_of(const Settings& asked, int usual) {
    if (asked.text("epochs") == "auto") return usual;
    return static_cast<int>(asked.number("epochs", 1, 100000));
}

const OptimizerKind& optimizer_of(const Settings& asked) {
    return find_optimizer(asked.text("optimizer"));
}

double learning_rate_of(const Settings& asked, double usual) {
    return asked.text("learning-rate") == "auto" ? usual : asked.real("learning-rate", 1e-9, 1000);
}

}  // namespace tutti
