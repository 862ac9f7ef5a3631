// SPDX-License-Identifier: Apache-2.0
#include "base/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "base/error.hpp"

namespace tutti {

void print_at_once(std::string_view text) {
    errno = 0;
    std::cout.flush();
    if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
        throw Error(std::string("what was printed could not be written: ") +
                    (errno != 0 ? std::strerror(errno) : "is the disk full?"));
}

}  // namespace tutti
