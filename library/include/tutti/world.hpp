// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks without MPI: run_as_threads(), and what else can be the ranks of a Communicator. Memory
// that they share already: ReachableMemory, for Communicator::adopt().
#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"
