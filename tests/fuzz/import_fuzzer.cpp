// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes are, reading them ends with a machine or with one line that names file and
// line; and a machine that was read can be used.
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
