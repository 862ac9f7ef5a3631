// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/heap/tutti_heap.h"
#include "tests/library/bytes.hpp"

namespace tutti {

inline bool in_arena(const void* memory, std::size_t bytes) {
    tutti_heap_place place{};
    return tutti_heap_locate(memory, bytes, &place) == 1;
}

}  // namespace tutti
