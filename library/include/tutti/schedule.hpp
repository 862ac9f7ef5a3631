// SPDX-License-Identifier: Apache-2.0
#pragma once
// Custom schedules: write, verify, count and print them.
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/schedule/verify.hpp"
