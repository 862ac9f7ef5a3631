// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace tutti {

/// What stands for a rank's computing. Times of different modes are never compared.
enum class ComputeMode : std::uint8_t {
    sleep,  ///< an accelerator computes: the rank's core is free to communicate
    burn,   ///< the core computes, out of its registers
    real    ///< the core multiplies matrices, through its caches
};

/// "sleep", "burn", "real"; parse throws Error naming them.
std::string_view name_of(ComputeMode mode);
ComputeMode parse_compute_mode(std::string_view text);

/// Computes for given times. A core that is busy does a given amount of work, not a given time of
/// it: so what communication takes from it shows.
class Computer {
public:
    virtual ~Computer() = default;

    /// Nothing computes until now: a step begins, or a collective that was waited for has ended.
    /// What is computed next cannot have begun before.
    virtual void release() {}

    /// Takes `ns` on a machine that is left alone; returns what it took. `meanwhile` moves
    /// collectives along and tells whether any is under way: it is called all the time where the
    /// core is free, else only once at the end, as a framework does from the hooks of its
    /// gradients. An accelerator goes on while its host does other things, so its time runs from
    /// the end of what was computed before, not from this call.
    virtual std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) = 0;
};

/// Learns how fast this core is: some 20 ms, but for `sleep`. `shares_core` with other ranks: then
/// who has nothing to move along lets them run.
std::unique_ptr<Computer> computer(ComputeMode mode, bool shares_core);

}  // namespace tutti
