// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/steps/way.hpp"

namespace tutti {

/// "auto": what a program gets of the library with this table, in each group by what the table says
/// of its ranks; by the built-in rules where there is no such file, or it has nothing for a group.
/// `anyway`: also of another topology. Its operations throw Error as Communicator does.
Way way_by_table(const std::string& file, bool anyway);

}  // namespace tutti
