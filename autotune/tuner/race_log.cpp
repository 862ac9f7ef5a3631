// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/race_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"

namespace tutti {
namespace {

using Json = nlohmann::json;

Json head_of(const JobShape& setting, const std::string& plan) {
    return {{"kind", "races"},
            {"v", 1},
            {"ranks", setting.ranks},
            {"ranks_per_host", setting.ranks_per_host},
            {"topology", setting.topology},
            {"plan", plan}};
}

Json line_of(const char* kind, const Subject& subject) {
    return {{"kind", kind},
            {"collective", name_of(subject.collective)},
            {"types", name_of(subject.types)},
            {"ops", name_of(subject.ops)},
            {"buffers", name_of(subject.buffers)}};
}

Json to_json(const RaceLog::Entry& entry) {
    Json json = line_of(entry.judges ? "judge" : "race", entry.subject);
    json.update({{"bytes", entry.size.count},
                 {"impl", entry.configuration.impl},
                 {"algorithm", entry.configuration.algorithm},
                 {"transport", entry.configuration.transport},
                 {"t_ns", entry.samples_ns}});
    for (const Knob& knob : knobs) json[knob.name] = knob.of(entry.configuration);
    return json;
}

RaceLog::Entry entry_of(const Json& json) {
    RaceLog::Entry entry{
        .subject = {.collective = parse_collective(json.at("collective").get<std::string>()),
                    .types = parse_type_class(json.at("types").get<std::string>()),
                    .ops = parse_op_class(json.at("ops").get<std::string>()),
                    .buffers = parse_buffer_kind(json.at("buffers").get<std::string>())},
        .size = {json.at("bytes").get<std::int64_t>()},
        .configuration = {.impl = json.at("impl").get<std::string>(),
                          .algorithm = json.at("algorithm").get<std::string>(),
                          .transport = json.at("transport").get<std::string>()},
        .samples_ns = json.at("t_ns").get<std::vector<double>>()};
    for (const Knob& knob : knobs)  // logs of older builds lack newer ones
        knob.set(entry.configuration, json.value(knob.name, knob.otherwise));
    return entry;
}

// The whole lines of a file; what follows the last newline is what a crash has torn.
std::vector<std::string> whole_lines(const std::filesystem::path& path, std::size_t& bytes) {
    std::ifstream stream(path, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    const std::string text = all.str();
    bytes = text.rfind('\n') + 1;  // 0 where there is none
    std::istringstream whole(text.substr(0, bytes));
    std::vector<std::string> lines;
    for (std::string line; std::getline(whole, line);) lines.push_back(line);
    return lines;
}

// What is wrong with a line is told with its place.
template <class Read>
void at_line(const std::filesystem::path& path, std::size_t line, Read&& read) {
    const auto fail = [&](const std::string& what) {
        throw Error(
            fmt::format("{}:{}: {}; begin anew without --resume", path.string(), line, what));
    };
    try {
        read();
    } catch (const nlohmann::json::exception&) {
        fail("this is no log of races");
    } catch (const Error& error) {
        fail(error.what());
    }
}

}  // namespace

RaceLog::RaceLog(std::filesystem::path path, const JobShape& setting, const std::string& plan,
                 bool goes_on)
    : path_(std::move(path)) {
    const Json head = head_of(setting, plan);
    goes_on = goes_on && std::filesystem::exists(path_);
    if (goes_on) {
        std::size_t bytes = 0;
        const auto lines = whole_lines(path_, bytes);
        bool is_same = true;
        for (std::size_t i = 0; i < lines.size(); ++i)
            at_line(path_, i + 1, [&] {
                const Json json = Json::parse(lines[i]);
                if (i == 0)
                    is_same = json == head;
                else if (json.at("kind") == "race")
                    earlier_.push_back(entry_of(json));
            });
        if (!is_same)
            throw Error(fmt::format(
                "'{}' is of other ranks or other options; give those again, or begin anew without "
                "--resume",
                path_.string()));
        std::filesystem::resize_file(path_, bytes);
        goes_on = !lines.empty();
    }
    stream_.open(path_, goes_on ? std::ios::app : std::ios::trunc);
    if (!goes_on) stream_ << head.dump() << '\n' << std::flush;
    if (!stream_)
        throw Error(
            fmt::format("cannot write '{}'; type another file behind --table", path_.string()));
}

void RaceLog::append(const Entry& entry) { append(to_json(entry).dump()); }

void RaceLog::append(const Subject& subject, const TuneCost& cost) {
    Json json = line_of("cost", subject);
    json.update({{"samples", cost.samples},
                 {"seconds", cost.seconds},
                 {"hold_out_samples", cost.hold_out_samples},
                 {"hold_out_seconds", cost.hold_out_seconds},
                 {"judge_samples", cost.judge_samples},
                 {"judge_seconds", cost.judge_seconds}});
    append(json.dump());
}

void RaceLog::append_calibration(std::int64_t samples, double seconds) {
    append(Json{{"kind", "calibration"}, {"samples", samples}, {"seconds", seconds}}.dump());
}

void RaceLog::append(const std::string& line) {
    stream_ << line << '\n' << std::flush;
    if (!stream_)
        throw Error(fmt::format("'{}' could not be written: is the disk full?", path_.string()));
}

std::vector<RaceLog::Entry> races_of_first(World& world, const std::vector<RaceLog::Entry>& mine) {
    Json list = Json::array();
    if (world.is_first())
        for (const RaceLog::Entry& entry : mine) list.push_back(to_json(entry));
    std::vector<RaceLog::Entry> all;
    for (const Json& json : Json::parse(gather_all_texts(world, list.dump())[0]))
        all.push_back(entry_of(json));
    return all;
}

}  // namespace tutti
