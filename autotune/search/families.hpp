// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "base/index.hpp"

namespace tutti {

/// The arms by family, and who is next to whom on the scales of their parameters.
class Families {
public:
    explicit Families(std::span<const Arm> arms);

    std::size_t count() const { return members_.size(); }
    std::size_t of(int arm) const { return at(family_of_, arm); }
    std::span<const int> members(std::size_t family) const { return members_[family]; }
    bool has_parameters(std::size_t family) const { return members_[family].size() > 1; }

    /// The member in the middle of all scales.
    int middle(std::size_t family) const;
    /// The member halfway between two.
    int between(int one, int other) const;

    /// Members that differ from `arm` in one parameter alone, in the order of its scale, with `arm`
    /// itself among them.
    std::vector<int> scale_through(int arm, std::size_t parameter) const;

private:
    using Level = std::array<double, knobs.size()>;
    int nearest(std::size_t family, const Level& level) const;

    std::vector<Arm> arms_;
    std::vector<std::size_t> family_of_;
    std::vector<std::vector<int>> members_;
};

}  // namespace tutti
