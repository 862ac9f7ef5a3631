// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autotune/tuner/hold_out.hpp"

namespace tutti {

/// What is told to be done meanwhile.
inline constexpr const char* against_library = "against the library";

/// Compares each choice of a section with the library.
struct HeldOut {
    Planner& planner;
    const BufferPool& stage;
    const MeasuringEvaluator::Race& race;
    const HoldOutOptions& options;
    std::span<const Bytes> sizes;  // that the section is about
    Bytes first, last;             // of those that are compared
    const std::string& session;
    const Candidate* library;  // null: none takes part
    std::function<bool()> is_over;
    std::function<void(const Configuration&)> wrong;
    std::function<void(double share)> progress;

    /// The samples that it took. Choices that cannot run here stay as they are. Collective.
    std::int64_t improve(Section& section, const std::vector<Candidate>& all) const;

private:
    bool is_wanted(Bytes size) const { return size >= first && size <= last; }
};

}  // namespace tutti
