// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/steps/method.hpp"

namespace tutti {

/// "auto": what a program gets of the library with this table, in each group by what the table says
/// of its ranks; by the built-in rules where there is no such file, or, in a group that is a part
/// of all ranks, where it has nothing for that. Buffers on devices only as the table says.
/// `anyway`: also of another topology. of_group throws Error as table_for_ranks does, on all ranks
/// alike.
Method method_by_table(const std::string& file, bool anyway);

}  // namespace tutti
