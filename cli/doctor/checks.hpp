// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/detect/host_facts.hpp"
#include "topology/detect/host_settings.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// All that the checks look at: a host, its ranks, and the environment of the first of them.
struct HostCondition {
    HostFacts facts;
    HostSettings settings;
    Host host;
    std::vector<CoreSet> cores_of_ranks;  ///< on which each of the host's ranks may run
    std::map<std::string, std::string> environment;
    bool has_other_hosts = false;
    bool was_tried = false;  ///< whether the next two were found out; if not, they mean nothing
    std::optional<std::string> copying_refused, sharing_refused;  ///< reasons; none: it works
    std::vector<std::string> ucx_transports;
    std::string why_no_ucx;  ///< reason if there are none

    int ranks() const { return static_cast<int>(cores_of_ranks.size()); }
    /// Returns an empty text if the variable is not set.
    std::string variable(const std::string& name) const;
};

/// The result of a check: what was seen, and what to do; nothing to do if it is as it should be.
struct Answer {
    std::string seen;
    std::string cure = {};
};

/// One row of the table of checks.
struct HostCheck {
    std::string_view name;
    /// Returns nothing if the host does not have such a thing, or if it is not known.
    std::optional<Answer> (*look)(const HostCondition&);
};

/// Every check; the only list of them.
std::span<const HostCheck> checks();

}  // namespace tutti
