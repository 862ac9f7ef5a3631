// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "preload_program.hpp"

/// Checks each kind of call with equal blocks. Collective over the job's communicator, as are all
/// functions here.
void check_calls(const Job& job);

/// Checks calls whose blocks differ between ranks, and scans.
void check_blocks(const Job& job);

/// Checks calls that are repeated with the same arguments.
void check_repeated_calls(const Job& job);
