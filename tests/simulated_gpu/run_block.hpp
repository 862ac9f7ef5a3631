// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace tutti::simulated {

/// One block of a grid in one dimension.
struct Block {
    const void* kernel;     ///< built by the host's compiler
    const void* arguments;  ///< by value: most_arguments bytes from here can be read
    unsigned threads;
    unsigned block, blocks;
    bool meets;  ///< its threads wait for each other; costs two context switches per thread
};
inline constexpr std::size_t most_arguments = 1024;

/// Runs all threads of the block, in turn on this thread of the host: each until the next meeting,
/// or to its end. Returns "", or why the block stopped: an access that a GPU would refuse, or
/// threads that have ended while others wait for them.
using RunBlock = const char*(const Block&);

}  // namespace tutti::simulated

/// A function of the library with the kernels.
extern "C" tutti::simulated::RunBlock simulated_run_block;
