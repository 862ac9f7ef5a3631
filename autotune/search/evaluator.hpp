// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/configuration.hpp"

namespace tutti {

/// A candidate of a search. The variants of one algorithm over one transport form a `family`. They
/// differ in their parameters (knobs), each of which is a level on a scale. An algorithm without
/// parameters is a family of one.
struct Arm {
    int family = 0;
    std::array<int, knobs.size()> level{};
    bool operator==(const Arm&) const = default;
};

/// Where the arms of one subject race: real ranks, stored times or a model. Arms are given by
/// index.
class Evaluator {
public:
    virtual ~Evaluator() = default;

    virtual std::span<const Arm> arms() const = 0;

    /// Returns times in ns of `repetitions` calls of each arm, alternating, so that all have the
    /// same noise of the machine; fewer if an arm cannot run at this size (none) or time is up.
    virtual std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                                  int repetitions) = 0;

    /// Returns whether the arm can run at this size, as far as that is known without a race.
    virtual bool takes_part(int /*arm*/, Bytes /*size*/) const { return true; }

    /// Returns the cost model's prediction in ns, if it has one. Collective on real ranks.
    virtual std::optional<double> predicted_ns(int arm, Bytes size) const = 0;

    /// Returns whether to stop racing: time is up, or the user asked to stop.
    virtual bool is_over() const = 0;
};

}  // namespace tutti
