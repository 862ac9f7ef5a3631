// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "results/records/reader.hpp"

namespace tutti {

/// Makes every text of the records printable by in_line(), because the file is not trusted.
void make_printable(Results& results);

}  // namespace tutti
