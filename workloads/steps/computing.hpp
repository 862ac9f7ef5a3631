// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "base/name_table.hpp"

namespace tutti {

/// How a rank's computing is simulated. Times of different modes are never compared.
enum class ComputeMode : std::uint8_t {
    sleep,  ///< an accelerator computes: the rank's core is free to communicate
    burn,   ///< the core computes, out of its registers
    real    ///< the core multiplies matrices, through its caches
};
template <>
struct NamesOf<ComputeMode> {
    static constexpr const char* kind = "compute mode";
    static constexpr Named<ComputeMode> rows[] = {
        {ComputeMode::sleep, "sleep"}, {ComputeMode::burn, "burn"}, {ComputeMode::real, "real"}};
};

/// Computes for given times. A busy core does a given amount of work, so that time which
/// communication takes from it shows.
class Computer {
public:
    virtual ~Computer() = default;

    /// Computing cannot begin before now: a step begins, or a collective that was waited for has
    /// ended.
    virtual void release() {}

    /// Computes what takes `ns` on an idle machine; returns the time that it took. `meanwhile`
    /// progresses collectives and returns whether any is under way: it is called continuously where
    /// the core is free, else once at the end, as from a framework's gradient hooks. An accelerator
    /// runs beside its host, so its time counts from the end of its previous computing.
    virtual std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) = 0;
};

enum class CoreUse : std::uint8_t { own, shared };

/// Calibrates for some 20 ms except for `sleep`. A core that is shared with other ranks is yielded
/// while there is nothing to do.
std::unique_ptr<Computer> computer(ComputeMode mode, CoreUse core);

}  // namespace tutti
