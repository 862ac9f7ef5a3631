// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing tuning tables. Times are in ns, sizes in bytes. All functions throw Error
// (base/error.hpp); the message has the file, the line and what to do.
//   Table read_table(path)                reads a file of 'tutti tune'
//   void keep_table(table, path)          replaces the file atomically
//   void overlay(table, learnt)           merges the result of Communicator::learnt() into a table
//   Table adapted(table, job_shape, ...)  derives a table for other rank counts and sizes
#include "autotune/table/adapt.hpp"
#include "autotune/table/table.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "base/error.hpp"
