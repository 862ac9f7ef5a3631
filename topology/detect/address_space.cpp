// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/address_space.hpp"

#include <sys/mman.h>

namespace tutti {

std::string missing_address_space(std::size_t mebibytes, const std::string& user) {
    const std::size_t bytes = mebibytes << 20;
    void* const space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return user + " needs " + std::to_string(mebibytes) +
               " MiB of free address space; allow more with 'ulimit -v unlimited'";
    munmap(space, bytes);
    return "";
}

}  // namespace tutti
