// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// What was decided for one size.
struct Verdict {
    Configuration choice;
    Origin origin = Origin::measured;
    RangeEvidence evidence;
};

/// Neighbours with the same choice become a range, measured if any of them was (the library's own
/// collective that was only kept stays apart from where it was found), which begins at the
/// geometric mean of its first size and the one before; the first at 0. Sizes that nothing was
/// measured at leave no evidence. `verdicts` ascend in size; at least one.
std::vector<Range> ranges_of(const std::vector<Verdict>& verdicts);

/// The inverse, for these sizes; evidence where the section has some.
std::vector<Verdict> verdicts_of(const Section& section, std::span<const Bytes> sizes);

/// The library's own collective takes the place of a choice that was not beyond doubt faster.
void let_default_stay(Verdict& verdict);

/// The library's own collective takes the place of a choice that gave a wrong result, at all sizes.
void replace_wrong(std::vector<Verdict>& verdicts, const Configuration& wrong,
                   const Configuration& library);

/// What was learnt takes the place of what the table said of its octaves of sizes; the rest stays.
void overlay(Table& table, const Table& learnt);

}  // namespace tutti
#pragma GCC visibility pop
