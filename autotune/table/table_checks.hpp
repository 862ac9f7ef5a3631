// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/table.hpp"
#include "autotune/table/table_place.hpp"

namespace tutti {

/// What the fields of a part must say together; that each is of its type is known before. Each
/// throws Error at the place to be looked at.
void check(const Setting&, const Place& place);
void check(const Subject&, const Place& place);
void check(const Configuration&, const Place& place);
void check(const TimeInterval&, const Place& place);
void check(const HoldOut&, const Place& place);
void check(const RangeEvidence&, const Place& place);
void check(const Section&, const Place& place);
void check(const Table&, const Place& place);
inline void check(const Range&, const Place&) {}

}  // namespace tutti
