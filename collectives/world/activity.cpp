// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/activity.hpp"

#include <mutex>

namespace tutti {
namespace {

std::mutex mutex;
std::string current;

}  // namespace

void say_activity(const std::string& what) {
    const std::lock_guard lock(mutex);
    current = what;
}

std::string activity() {
    const std::lock_guard lock(mutex);
    return current;
}

std::string in_activity() {
    const std::string what = activity();
    return what.empty() ? what : " in " + what;
}

}  // namespace tutti
