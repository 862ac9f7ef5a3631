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

/// A call that a library is to do, by an algorithm of its own.
struct LibraryCall {
    Call call;
    std::string algorithm = {};  ///< as the library names it, in kebab-case; empty: its own choice
    bool in_place = false;
    MemoryOf memory = MemoryOf::host;
};

/// A library's own collective, measured by the same loop as our plans.
struct Baseline {
    std::string_view name;
    std::string_view what;                    ///< one sentence
    std::optional<std::string> (*missing)();  ///< why this build lacks it
    /// Configures the library before it starts, so that its algorithms can be forced.
    void (*before_start)();
    /// The algorithms that can be forced on it. None before it has started, or if it has no names.
    std::vector<std::string> (*algorithms)(Collective);
    /// Why these ranks or this call cannot use it, though it is there on all; nothing if they can.
    /// Collective.
    std::optional<std::string> (*refuses)(World&, const LibraryCall&);
    std::unique_ptr<Operation> (*make)(World&, const LibraryCall&, const CallBuffers&);
    /// Resets what the last call has set in the library and would affect the program's own calls,
    /// too. For programs, after each run; a benchmark need not.
    void (*leave_as_found)();
    bool is_default = true;  ///< "all" names it, too
    /// Its start returns only when the call is done on this rank, so ranks that start two calls in
    /// different orders deadlock.
    bool blocks = true;
    bool takes_device = false;  ///< buffers on devices
};

/// Why these ranks or this call cannot use the library, be it that some of their hosts lack it;
/// nothing if they can. Collective.
std::optional<std::string> refusal(World& world, const Baseline& baseline, const LibraryCall& call);

/// The one place where baselines are listed.
std::span<const Baseline> baselines();

/// Throws Error naming the known ones.
const Baseline& find_baseline(std::string_view name);

}  // namespace tutti
