// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/table.hpp"
#include "autotune/table/table_place.hpp"

namespace tutti {

/// What the fields of a part must say together; that each is of its type is known before. Each
/// throws Error at the place to be looked at.
void check(const JobShape&, const JsonPlace& place);
void check(const Subject&, const JsonPlace& place);
void check(const Configuration&, const JsonPlace& place);
void check(const TimeInterval&, const JsonPlace& place);
void check(const HoldOut&, const JsonPlace& place);
void check(const RangeEvidence&, const JsonPlace& place);
void check(const Section&, const JsonPlace& place);
void check(const Table&, const JsonPlace& place);
inline void check(const Range&, const JsonPlace&) {}

}  // namespace tutti
