// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace tutti {

// Why `user` cannot have so many MiB of address space (`ulimit -v`), or nothing. To be asked before
// libraries are called that do not check their malloc: hwloc, UCX.
std::string missing_address_space(std::size_t mebibytes, const std::string& user);

}  // namespace tutti
