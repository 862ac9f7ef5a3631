// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives a message, which can be sent again, or a one-line error.
#include "tests/fuzz/demand.hpp"
#include "workloads/timing/turn_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti;
    std::string line;
    try {
        line = to_line(turn_message_of(text_of(data, size)));
    } catch (const Error& error) {
        demand_place(error, "message of a job");
        return 0;
    }
    demand(line.find('\n') == std::string::npos, "a message is a line");
    demand(to_line(turn_message_of(line)) == line, "the line brings back the message");
    return 0;
}
