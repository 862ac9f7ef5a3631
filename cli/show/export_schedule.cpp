// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/output.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "cli/show/typed_schedule.hpp"
#include "collectives/formats/schedule_formats.hpp"

namespace tutti {
namespace {

std::string formats_in_words() {
    std::string text;
    for (const ScheduleFormat& format : schedule_formats())
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", format.name, format.what);
    return text;
}

Bytes parse_rate(const std::string& text) {
    const Bytes rate = parse_bytes(text);
    if (rate.count == 0) throw Error("--compute-rate must be > 0, e.g. 10G");
    return rate;
}

std::string format_type() {
    std::string names;
    for (const ScheduleFormat& format : schedule_formats())
        names += fmt::format("{}{}", names.empty() ? "" : ",", format.name);
    return "{" + names + "}";
}

}  // namespace

Exit run_export_schedule(const Arguments& arguments) {
    Arguments words;
    TypedSchedule typed;
    std::string to, file = "-";
    Bytes size, rate;
    Aliasing in_place = Aliasing::none;
    CLI::App app{
        "Writes a schedule for another library or simulator: tutti export-schedule ring all_reduce "
        "--ranks 8 --to msccl-xml -o ring.xml",
        "tutti export-schedule"};
    app.add_option("what", words,
                   "Algorithm (see 'tutti list') and its collective (default: the first that has "
                   "it)");
    const OptionGroup of_file{app, "Options"}, of_schedule{app, "Options for the schedule"};
    of_file.text("--to", to, "Format. " + formats_in_words())->required()->type_name(format_type());
    of_file.text("-o,--output", file, "File; for chakra the beginning of the names; - is stdout");
    const CLI::Option* place_option = of_file.parsed(
        "--inplace", in_place, "no", parse_as<Aliasing>,
        "Whether input and output are the same memory: no or yes (mscclpp, msccl-xml)");
    const CLI::Option* size_option = of_file.parsed(
        "--size", size, "1M", parse_bytes, "Size of the largest buffer of a rank (goal, chakra)");
    const CLI::Option* rate_option =
        of_file.parsed("--compute-rate", rate, "10G", parse_rate,
                       "Bytes that a rank reduces per second (goal, chakra)");
    add_schedule(of_schedule, typed);
    if (parse_or_help(app, arguments)) return Exit::ok;
    refuse_together(app, "--placement", {"--ranks", "--ranks-per-node"});
    const ScheduleFormat* const format = &find_row(schedule_formats(), "format", to);
    const auto refuse_unused = [&](const CLI::Option* option, bool is_used) {
        if (option->count() > 0 && !is_used)
            throw Error(fmt::format("{} cannot be used with --to {}", option->get_name(), to));
    };
    using For = ScheduleFormat::For;
    refuse_unused(place_option, format->purpose == For::programs);
    refuse_unused(size_option, format->purpose == For::simulators);
    refuse_unused(rate_option, format->purpose == For::simulators);
    typed.set_words(app, words, "export-schedule");
    const BuiltSchedule built = build(std::move(typed));
    const auto& [algorithm, job, ways, schedule] = built;
    const std::vector<ExportedFile> files = format->write(
        {.schedule = schedule,
         .spec = {job.collective, job.ranks, job.root},
         .name = fmt::format("tutti_{}_{}_{}", algorithm.name, name_of(job.collective), job.ranks),
         .in_place = in_place,
         .size = size,
         .compute_rate = rate});
    if (file != "-") {
        for (const ExportedFile& one : files)
            replace_file(file + one.name_end, one.text, "the schedule");
    } else if (files.size() == 1) {
        print_at_once(files.front().text);
    } else {
        throw Error(fmt::format("{} writes {} files; use -o NAME", to, files.size()));
    }
    return Exit::ok;
}

}  // namespace tutti
