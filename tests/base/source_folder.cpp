// SPDX-License-Identifier: Apache-2.0
#include "tests/base/source_folder.hpp"

namespace tutti {

std::filesystem::path source_folder() { return TUTTI_SOURCE_FOLDER; }

}  // namespace tutti
