// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of configurations as programs read and write them. Times are in ns, sizes in bytes. All
// functions throw Error (base/error.hpp) with file, line and what to do.
//   Table read_table(path)               a file of 'tutti tune'
//   void keep_table(table, path)         replaces the file as a whole
//   void overlay(table, learnt)          puts what Communicator::learnt() says into a table
//   Table adapted(table, job_shape, ...)  for other rank counts and sizes than were measured
#include "autotune/table/adapt.hpp"
#include "autotune/table/table.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "base/error.hpp"
