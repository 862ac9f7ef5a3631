// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace tutti {

/// Sets the activity of this process, for reports of a wait: "all_reduce ring (shm) 4 KiB".
void say_activity(const std::string& what);

/// Returns the latest activity; empty before the first.
std::string activity();

/// Returns the activity as part of a sentence: " in all_reduce ring (shm) 4 KiB"; empty if there is
/// none.
std::string in_activity();

}  // namespace tutti
