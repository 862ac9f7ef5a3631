// SPDX-License-Identifier: Apache-2.0
// Reading any bytes as a schedule of another program gives a schedule that can be proved and
// counted, or a one-line error with file and line. A schedule that delivers can be exported, and
// delivers if its file is read.
#include "collectives/formats/schedule_files.hpp"
#include "collectives/formats/schedule_formats.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

// A format may refuse a schedule.
std::vector<ExportedFile> written(const ScheduleFormat& format, const ImportedSchedule& imported) {
    try {
        return format.write({.schedule = imported.schedule,
                             .spec = imported.spec,
                             .name = imported.name,
                             .size = {1 << 20},
                             .compute_rate = {1'000'000'000}});
    } catch (const Error& error) {
        demand_one_line(error);
        return {};
    }
}

void export_and_read(const ImportedSchedule& imported) {
    for (const ScheduleFormat& format : schedule_formats()) {
        const auto files = written(format, imported);
        if (files.empty() || format.purpose != ScheduleFormat::For::programs) continue;
        try {
            const auto again = parse_schedule(files.front().text, format.name);
            demand(again.spec.collective() == imported.spec.collective() &&
                       again.spec.ranks() == imported.spec.ranks(),
                   "the file has the same collective");
            demand(!prove(again.schedule, again.spec).fault, "what the file says delivers");
        } catch (const Error& error) {
            demand(false, "what was written is refused: " + std::string(error.what()));
        }
    }
}

void use(const ImportedSchedule& imported) {
    const auto& [name, spec, schedule] = imported;
    demand(schedule.ranks() == spec.ranks(), "as many ranks as the collective has");
    const long size = static_cast<long>(schedule.ranks()) * schedule.chunks();
    constexpr long enough = 10'000, enough_for_files = 500;
    if (size > enough) return;
    const bool delivers = !prove(schedule, spec).fault;
    if (delivers) count(schedule, spec);
    in_words(schedule);
    if (delivers && size <= enough_for_files) export_and_read(imported);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        use(parse_schedule(text_of(data, size), "FILE"));
    } catch (const Error& error) {
        demand_place(error, "FILE");
    }
    return 0;
}
