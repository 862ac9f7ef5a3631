// SPDX-License-Identifier: Apache-2.0
// Reading any bytes as a schedule of another program gives a schedule that can be proved and
// counted, or a one-line error with file and line.
#include "collectives/formats/schedule_files.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/fuzz/demand.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti;
    try {
        const auto [name, spec, schedule] = parse_schedule(text_of(data, size), "FILE");
        demand(schedule.ranks() == spec.ranks(), "as many ranks as the collective has");
        if (static_cast<long>(schedule.ranks()) * schedule.chunks() > 10'000) return 0;
        if (!prove(schedule, spec).fault) count(schedule, spec);
        in_words(schedule);
    } catch (const Error& error) {
        demand_place(error, "FILE");
    }
    return 0;
}
