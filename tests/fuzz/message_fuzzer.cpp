// SPDX-License-Identifier: Apache-2.0
// Whatever a job sends, reading it ends with a message or with one line that says what is wrong;
// and a message that was read can be sent again.
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
