// SPDX-License-Identifier: Apache-2.0
#pragma once
// World: the ranks of a Communicator, for example threads by run_as_threads(). ReachableMemory:
// memory that ranks share already, for Communicator::adopt().
#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"
