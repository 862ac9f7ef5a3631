// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace tutti::heap {

/// How a forked child gets the heap.
enum class AfterFork {
    copy,  ///< a copy, taken at the fork
    exec,  ///< nothing: the child only executes another program
};

/// Options from the environment; see docs/background/shared_memory.md.
struct Settings {
    std::size_t threshold = std::size_t{64}
                            << 10;  ///< least size that the heap serves; SIZE_MAX: none
    std::size_t retain = std::size_t{128} << 20;
    std::size_t reserve = std::size_t{256} << 30;
    AfterFork after_fork = AfterFork::copy;
};

/// Parses the environment. Reports invalid values on stderr and uses their defaults.
Settings settings_from(char** environment);

/// Writes "tutti_heap: ", the texts and an end of line to stderr, without allocating.
void say(const char* text, const char* more = "", const char* end = "");

}  // namespace tutti::heap
