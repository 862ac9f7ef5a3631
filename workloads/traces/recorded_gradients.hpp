// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/steps/step_runner.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

/// The gradients themselves, where they lie beside a trace as NAME.step<K>.bucket<I>.rank<R>.f32
/// (little-endian float32): of one rank, before they were averaged.
class RecordedGradients {
public:
    /// Those of rank `rank` modulo the recorded ones; `buckets` are the recorded ones. Throws Error
    /// naming the file that is not of its bucket's size.
    RecordedGradients(const std::filesystem::path& trace, const GradientTrace& recorded, Rank rank);

    /// Recorded steps; 0 where no gradients were recorded.
    std::int64_t steps() const { return static_cast<std::int64_t>(steps_.size()); }

    /// Puts those of step `number` modulo their number into the inputs of the program's
    /// all-reduces, in their order, as often as they fit.
    void load(const ProgramBuffers& buffers, std::int64_t number) const;

private:
    std::vector<std::vector<std::byte>> steps_;  // in the order of the buckets
};

}  // namespace tutti
