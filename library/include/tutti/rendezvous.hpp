// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that are processes without MPI: where they meet, for Communicator::over_rendezvous(), or as
// a World.
#include "collectives/world/rendezvous/rendezvous.hpp"
