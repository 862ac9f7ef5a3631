// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that are processes without MPI: their meeting address for Communicator::over_rendezvous(),
// or a World of them.
#include "collectives/world/rendezvous/rendezvous.hpp"
