// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "preload_program.hpp"

/// The rules of MPI for each kind of call. Collective over the job's communicator, as all are here.
void check_calls(const Job& job);

/// Blocks that differ from rank to rank, and scans.
void check_blocks(const Job& job);

/// Communicators of other groups, attributes, messages that need progress, errors.
void check_surroundings(const Job& job);

/// Two threads, each with a communicator of its own; needs MPI_THREAD_MULTIPLE.
void check_threads(const Job& job);
