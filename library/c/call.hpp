// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "tutti/communicator.hpp"
#include "tutti/tutti.h"

struct tutti_comm {
    tutti::Communicator ranks;
    std::vector<std::span<std::byte>> allocated = {};  // by tutti_allocate
};

namespace tutti {

/// A call as C gives it: the elements of a block, and what the buffers hold in blocks.
struct Given {
    Collective collective;
    const void* input;
    void* output;
    std::size_t count;
    tutti_type type;
    tutti_op op = TUTTI_SUM;
    int root = 0;
};

/// What the communicator is asked for, and memory that it needs until then.
struct Prepared {
    CallArguments arguments;
    std::vector<std::byte> root_block = {};
};

/// Throws Error.
Prepared prepared(const tutti_comm& comm, const Given& given);

void expect_place(const void* place, const char* what);

}  // namespace tutti
