// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/execute/layout.hpp"
#include "collectives/execute/plan.hpp"

namespace tutti {

/// The buffers of one call of one rank. In place: they coincide as in_place_offsets() says.
struct CallBuffers {
    std::span<const std::byte> input;
    std::span<std::byte> output;
    bool in_place = false;
};

/// A library's own collective, measured by the same loop as our plans.
struct Baseline {
    std::string_view name;
    std::string_view what;                    ///< one sentence
    std::optional<std::string> (*missing)();  ///< why this build lacks it
    /// Why these ranks or this call cannot use it; nothing if they can.
    std::optional<std::string> (*refuses)(const World&, const Call&);
    std::unique_ptr<Operation> (*make)(World&, const Call&, const CallBuffers&);
};

/// The one place where baselines are listed.
std::span<const Baseline> baselines();

/// Throws Error naming the known ones.
const Baseline& find_baseline(std::string_view name);

}  // namespace tutti
