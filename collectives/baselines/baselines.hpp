// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/plan.hpp"

namespace tutti {

/// A call of a library, by one of its algorithms.
struct LibraryCall {
    Call call;
    /// the library's name for it, in kebab-case; empty: its own choice
    std::string algorithm = {};
    bool in_place = false;
    MemoryOf memory = MemoryOf::host;
};

/// A library's own collective, measured by the same loop as our plans.
struct Baseline {
    std::string_view name;
    std::string_view what;                    ///< one sentence
    std::optional<std::string> (*missing)();  ///< returns why this build lacks it
    /// Configures the library before it starts, so that its algorithms can be forced.
    void (*before_start)();
    /// Returns the algorithms that can be forced. None before the library has started, or if it has
    /// no names.
    std::vector<std::string> (*algorithms)(Collective);
    /// Returns why these ranks or this call cannot use it, although all ranks have it; nothing if
    /// they can. Collective.
    std::optional<std::string> (*refuses)(World&, const LibraryCall&);
    std::unique_ptr<Operation> (*make)(World&, const LibraryCall&, const CallBuffers&);
    /// Restores the library settings that the last call changed, as they would affect the program's
    /// own calls. Programs need this after each run, benchmarks do not.
    void (*restore)();
    bool is_default = true;  ///< included in "all"
    /// Starting it returns only when the call is done on this rank, so ranks that start two calls
    /// in different orders deadlock.
    bool blocks = true;
    bool takes_device = false;  ///< buffers on devices
};

/// Returns why these ranks or this call cannot use the library, including that some hosts lack it;
/// nothing if they can. Collective.
std::optional<std::string> refusal(World& world, const Baseline& baseline, const LibraryCall& call);

/// The only list of baselines.
std::span<const Baseline> baselines();

/// Throws Error that names the known baselines.
const Baseline& find_baseline(std::string_view name);

}  // namespace tutti
