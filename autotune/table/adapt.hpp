// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/table/estimate.hpp"
#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

struct AdaptOptions {
    bool anyway = false;  ///< use choices that were made on another topology
};

/// Returns the table's contents for `job_shape`. Subjects that it has no section for get the
/// choices of the nearest rank counts below and above on the same topology; where these differ, the
/// model decides which is faster, or the nearer count if the model has no prediction. Sizes further
/// than a factor of 2 from any measured size are decided by the model. Choices that were not
/// measured for this job shape are marked as interpolated.
///
/// Throws Error if the table was made on another topology, unless `anyway` is set, or is empty.
Table adapted(const Table& table, const JobShape& job_shape, const Predictor& predict,
              AdaptOptions options = {});

}  // namespace tutti
#pragma GCC visibility pop
