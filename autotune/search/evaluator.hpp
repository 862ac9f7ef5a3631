// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/configuration.hpp"

namespace tutti {

/// What takes part in a search: the variants of one algorithm over one transport are a `family`,
/// and differ in their parameters, each of which is a level on a scale of its own, a
/// knob. Algorithms without parameters are families of one.
struct Arm {
    int family = 0;
    std::array<int, knobs.size()> level{};
    bool operator==(const Arm&) const = default;
};

/// Where the arms of one subject race: real ranks, remembered times or a model. Arms are called by
/// their index.
class Evaluator {
public:
    virtual ~Evaluator() = default;

    virtual std::span<const Arm> arms() const = 0;

    /// Times in ns of `repetitions` calls of each, alternating, so that all meet the same noise of
    /// the machine; fewer where an arm cannot run at this size (none) or time is up.
    virtual std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                                  int repetitions) = 0;

    /// Whether the arm takes part at this size, as far as that is known without a race.
    virtual bool takes_part(int /*arm*/, Bytes /*size*/) const { return true; }

    /// What the cost model says, in ns; nothing where it does not know.
    virtual std::optional<double> predicted_ns(int arm, Bytes size) const = 0;

    /// Time is up, or somebody asked for an end: nothing more is to be raced.
    virtual bool is_over() const = 0;
};

}  // namespace tutti
