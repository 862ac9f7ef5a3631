// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "results/records/reader.hpp"

namespace tutti {

/// Every text of the records as in_line() gives it: somebody else may have written the file.
void make_printable(Results& results);

}  // namespace tutti
