// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace tutti::heap {

/// What a forked child has of the heap.
enum class AfterFork {
    copy,  ///< all of it, as of the fork
    exec,  ///< nothing: it only executes another program
};

/// What the environment says: docs/background/heap.md.
struct Settings {
    std::size_t threshold = std::size_t{64} << 10;  ///< allocations from here on; SIZE_MAX: none
    std::size_t retain = std::size_t{128} << 20;
    std::size_t reserve = std::size_t{256} << 30;
    AfterFork after_fork = AfterFork::copy;
};

/// Says on stderr what it cannot understand, and leaves that at its default.
Settings settings_from(char** environment);

/// Writes "tutti_heap: ", the texts and an end of line to stderr, without allocating.
void say(const char* text, const char* more = "", const char* end = "");

}  // namespace tutti::heap
