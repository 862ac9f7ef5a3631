// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives a machine that can be used, or a one-line error with file and line.
#include <cstdint>

#include "tests/fuzz/use_machine.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti;
    try {
        use(parse_machine(text_of(data, size), "FILE"));
    } catch (const Error& error) {
        demand_place(error, "FILE");
    }
    return 0;
}
