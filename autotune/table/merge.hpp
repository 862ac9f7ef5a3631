// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "autotune/table/table.hpp"

namespace tutti {

/// The sections of all tables, in the order of job shape and subject. What two of them contain for
/// the same job shape and subject is not mixed, as times of different days do not compare: a
/// complete search wins over an incomplete one, then the later over the earlier, then the table
/// that comes later here. Time of writing, tool and model are those of the table that was written
/// last (the model: of those that have one). Merging once more changes nothing.
Table merged(std::span<const Table> tables);

}  // namespace tutti
