// SPDX-License-Identifier: Apache-2.0
#pragma once
// All calls throw class Error, with one line of text that says what to do.
#include "base/error.hpp"
