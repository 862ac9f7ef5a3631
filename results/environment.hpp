// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "results/launch.hpp"

namespace tutti {

/// Whether a variable may be stored: it steers MPI, UCX, NCCL, CUDA, OpenMP, Slurm or tutti, and
/// its name does not hint at a secret. Results get published; a whole environment would leak
/// tokens.
bool may_be_stored(std::string_view name);

/// What may be stored of an environment such as `environ` ("NAME=value" strings, ended by a null).
TextByName stored_environment(const char* const* variables);

}  // namespace tutti
