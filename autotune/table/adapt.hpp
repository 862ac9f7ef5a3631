// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/estimate.hpp"
#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

struct AdaptOptions {
    bool anyway = false;  ///< take choices that were made on another topology
};

/// The table's contents for `job_shape`: its sections for it, and for subjects that it has none
/// for, the choices of the nearest rank counts below and above on the same topology; where these
/// differ the model decides which is faster, and where it makes no prediction the nearer is taken.
/// In both cases what lies further than a factor of 2 from any measured size is decided anew by the
/// model. All that was not measured for this job shape is marked as interpolated.
///
/// Throws Error if the table was made on another topology, unless `anyway` is set, or is empty.
Table adapted(const Table& table, const JobShape& job_shape, const Predictor& predict,
              AdaptOptions options = {});

}  // namespace tutti
#pragma GCC visibility pop
