// SPDX-License-Identifier: Apache-2.0
// Resuming with any bytes gives races, which can be written and read again, or a one-line error
// with the file.
#include <algorithm>

#include "autotune/tuner/race_log.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

const JobShape shape{.ranks = 2, .ranks_per_host = 2, .topology = "abc"};

bool are_same(const RaceLog::Entry& one, const RaceLog::Entry& other) {
    return one.subject == other.subject && one.size == other.size &&
           one.configuration == other.configuration && one.samples_ns == other.samples_ns;
}

void use(const RaceLog& log, const std::string& file) {
    {
        RaceLog copy(file, shape, "plan", /*goes_on=*/false);
        for (const RaceLog::Entry& entry : log.earlier()) copy.append(entry);
    }
    demand(std::ranges::equal(RaceLog(file, shape, "plan", /*goes_on=*/true).earlier(),
                              log.earlier(), are_same),
           "the log brings back the races");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("races");
    const std::string file = folder.file("races", text_of(data, size));
    try {
        use(RaceLog(file, shape, "plan", /*goes_on=*/true), folder.file("copy", ""));
    } catch (const Error& error) {
        demand_one_line(error);
        demand(std::string(error.what()).find(file) != std::string::npos, error.what());
    }
    return 0;
}
