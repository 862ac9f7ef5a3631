// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// What `tutti topo` tells of the ways through a machine.
struct RouteOptions {
    bool paths = false;
    bool rings = false;
    int hosts = 1;           ///< so many copies of a single host
    int nvlinks = 0;         ///< so many from each GPU to NVSwitches; 0: as described
    std::string order_file;  ///< where the rings go, for `bench --order-by`; "-" is the output
    bool asks() const { return paths || rings || !order_file.empty(); }
};

void add_route_options(CLI::App& app, RouteOptions& options);

enum class TextFor { people, programs };

/// The text that the options ask for; none if they ask for nothing. Writes the order file. Throws
/// Error for what cannot be done.
std::optional<std::string> routes_text(Machine machine, const RouteOptions& options,
                                       TextFor reader);

}  // namespace tutti
