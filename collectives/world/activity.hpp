// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace tutti {

/// Sets what this process is doing, as reports of a wait name it: "all_reduce ring (shm) 4 KiB".
void say_activity(const std::string& what);

/// What say_activity was told last; empty before the first time.
std::string activity();

/// The same as a part of a sentence: " in all_reduce ring (shm) 4 KiB"; empty if there is none.
std::string in_activity();

}  // namespace tutti
