// SPDX-License-Identifier: Apache-2.0
// Replacements for the keywords of CUDA's language, with which the host's compiler can build
// kernels.
#pragma once

#ifndef __device__  // CUDA's own headers, if they came first, have these for the host
#define __device__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif

namespace tutti {

struct EmulatedIndex {
    unsigned x;
};

// The thread that runs a kernel now, in its block and in its grid. These, and the meeting, are
// defined by the code that runs kernels on the host.
extern thread_local EmulatedIndex threadIdx, blockDim, blockIdx, gridDim;

/// Waits until all threads of the block are here; returns whether all pass true.
bool emulated_meeting(bool mine);

}  // namespace tutti

#define __syncthreads_and(mine) (::tutti::emulated_meeting(mine))
