// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The decision for one size.
struct Verdict {
    Configuration choice;
    Origin origin = Origin::measured;
    RangeEvidence evidence;
};

/// Merges neighbours with the same choice into a range, which counts as measured if any of them
/// was. A library's own collective that was only kept is not merged with ranges where it was found.
/// A range begins at the geometric mean of its first size and the previous one; the first at 0.
/// Sizes without measurements leave no evidence. `verdicts` ascend in size; at least one.
std::vector<Range> ranges_of(const std::vector<Verdict>& verdicts);

/// Inverts it for these sizes, with evidence where the section has some.
std::vector<Verdict> verdicts_of(const Section& section, std::span<const Bytes> sizes);

/// The judgement of a choice after its comparison with the library's own collective.
enum class Gain { enough, too_small };

/// Replaces a choice by the library's own collective, with which it was compared, unless its gain
/// is enough. Without the parameter, it is enough if its whole interval is above 1. The time of the
/// comparison is the evidence of a choice that has no other.
void let_default_stay(Verdict& verdict);
void let_default_stay(Verdict& verdict, Gain gain);

/// Replaces a choice by the own collective of a library. If they were compared, the choice becomes
/// the runner-up.
void restore_default(Verdict& verdict, std::string_view library);

/// Replaces a choice that gave a wrong result by the library's own collective, at all sizes.
void replace_wrong(std::vector<Verdict>& verdicts, const Configuration& wrong,
                   const Configuration& library);

/// Replaces the table's choices in the octaves of sizes that were learnt; the rest stays.
void overlay(Table& table, const Table& learnt);

}  // namespace tutti
#pragma GCC visibility pop
