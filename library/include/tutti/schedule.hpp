// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules of one's own: written, proved, counted and drawn.
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/schedule/verify.hpp"
