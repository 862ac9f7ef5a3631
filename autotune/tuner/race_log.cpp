// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/race_log.hpp"

#include <fmt/format.h>

#include <sstream>

#include "autotune/table/table_fields.hpp"

namespace tutti {
namespace {

constexpr JsonRules rules{.whole = "the line", .remedy = "; start again without --resume"};

// Lines of the log; their fields are in alphabetical order.
struct Head {
    const JobShape& shape;
    const std::string& plan;
};
struct CostLine {
    const Subject& subject;
    const TuneCost& cost;
};
struct CalibrationLine {
    std::int64_t samples;
    double seconds;
};

// Knobs are sorted alphabetically.
std::string sorted_line(const Json& json) { return one_line(Json(nlohmann::json(json))); }

// Returns the complete lines of a file; a crash may have left a torn one after the last newline.
std::vector<std::string> whole_lines(const std::filesystem::path& path, std::size_t& bytes) {
    std::ifstream stream(path, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    const std::string text = all.str();
    bytes = text.rfind('\n') + 1;  // 0 if there is none
    std::istringstream whole(text.substr(0, bytes));
    std::vector<std::string> lines;
    for (std::string line; std::getline(whole, line);) lines.push_back(line);
    return lines;
}

}  // namespace

void walk(auto& f, Is<Head> auto& head) {
    f.must("kind", std::string("races"));
    f.must("plan", head.plan);
    f.must("ranks", head.shape.ranks);
    f.must("ranks_per_host", head.shape.ranks_per_host);
    f.must("topology", head.shape.topology);
    f.must("v", 1);
}

void walk(auto& f, Is<RaceLog::Entry> auto& entry) {
    auto& c = entry.configuration;
    std::string kind = entry.samples_ns.empty() ? "wrong" : entry.is_evaluation ? "judge" : "race";
    f.must("algorithm", c.algorithm);
    f.must("buffers", entry.subject.buffers);
    f.must("bytes", entry.size);
    f.must("collective", entry.subject.collective);
    f.must("impl", c.impl);
    f.must("kind", kind);
    f.must("ops", entry.subject.ops);
    f.must("t_ns", entry.samples_ns);
    f.must("transport", c.transport);
    f.must("types", entry.subject.types);
    for (const Knob& knob : knobs)
        knob.visit(c, [&](auto& value, const auto&) { f.always(knob.name, value); });
}

void walk(auto& f, Is<CostLine> auto& line) {
    f.must("buffers", line.subject.buffers);
    f.must("collective", line.subject.collective);
    f.must("hold_out_samples", line.cost.hold_out_samples);
    f.must("hold_out_seconds", line.cost.hold_out_seconds);
    f.must("judge_samples", line.cost.evaluation_samples);
    f.must("judge_seconds", line.cost.evaluation_seconds);
    f.must("kind", std::string("cost"));
    f.must("ops", line.subject.ops);
    f.must("samples", line.cost.samples);
    f.must("seconds", line.cost.seconds);
    f.must("types", line.subject.types);
}

void walk(auto& f, Is<CalibrationLine> auto& line) {
    f.must("kind", std::string("calibration"));
    f.must("samples", line.samples);
    f.must("seconds", line.seconds);
}

namespace {

std::vector<RaceLog::Entry> entries_of(const std::vector<std::string>& lines,
                                       const std::filesystem::path& path) {
    std::vector<RaceLog::Entry> entries;
    const Source source("", path.string());
    int number = 0;
    for (const std::string& line : lines) {
        ++number;
        try {
            const JsonValue json = parse_json(line, source, number);
            const JsonPlace place(json, source, rules);
            if (number == 1) continue;  // the line with the ranks
            const std::string& kind = place.needed("kind").text();
            if (kind == "race" || kind == "wrong") decode(place, entries.emplace_back());
        } catch (const NotJson&) {
            source.fail(number, "not a log of races; start again without --resume");
        }
    }
    return entries;
}

}  // namespace

RaceLog::RaceLog(std::filesystem::path path, const JobShape& job_shape, const std::string& plan,
                 bool goes_on)
    : path_(std::move(path)) {
    const std::string head = one_line(encode(Head{job_shape, plan}));
    goes_on = goes_on && std::filesystem::exists(path_);
    if (goes_on) {
        std::size_t bytes = 0;
        const auto lines = whole_lines(path_, bytes);
        earlier_ = entries_of(lines, path_);
        const bool is_same = lines.empty() || lines.front() == head;
        if (!is_same)
            throw Error(fmt::format(
                "'{}' was written with other ranks or options; use those, or start again without "
                "--resume",
                path_.string()));
        std::filesystem::resize_file(path_, bytes);
        goes_on = !lines.empty();
    }
    stream_.open(path_, goes_on ? std::ios::app : std::ios::trunc);
    if (!goes_on) stream_ << head << '\n' << std::flush;
    if (!stream_)
        throw Error(fmt::format("cannot write '{}'; use another file for --table", path_.string()));
}

void RaceLog::append(const Entry& entry) { append(sorted_line(encode(entry))); }

void RaceLog::append(const Subject& subject, const TuneCost& cost) {
    append(one_line(encode(CostLine{subject, cost})));
}

void RaceLog::append_calibration(std::int64_t samples, double seconds) {
    append(one_line(encode(CalibrationLine{samples, seconds})));
}

void RaceLog::append(const std::string& line) {
    stream_ << line << '\n' << std::flush;
    if (!stream_)
        throw Error(fmt::format("'{}' could not be written: is the disk full?", path_.string()));
}

std::vector<RaceLog::Entry> races_in(const std::filesystem::path& path) {
    std::size_t bytes = 0;
    return entries_of(whole_lines(path, bytes), path);
}

std::vector<RaceLog::Entry> races_of_first(World& world, const std::vector<RaceLog::Entry>& mine) {
    const std::string text =
        gather_all_texts(world, world.is_first() ? one_line(encode(mine)) : "[]")[0];
    const Source source(text, "the first rank's races");
    const JsonValue json = parse_json(source);
    std::vector<RaceLog::Entry> all;
    decode(JsonPlace(json, source, rules), all);
    return all;
}

}  // namespace tutti
