// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/nccl_tests_json.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/output.hpp"
#include "cli/forms/call_statistics.hpp"
#include "cli/forms/one_row.hpp"
#include "results/records/identity.hpp"

namespace tutti {
namespace {

constexpr int most_files = 10'000;

// Makes an empty file that was not there before.
std::string new_file(const std::string& wanted) {
    for (int number = -1; number < most_files; ++number) {
        const std::string file = number < 0 ? wanted : fmt::format("{}.{}", wanted, number);
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> made(std::fopen(file.c_str(), "wx"),
                                                                   &std::fclose);
        if (made) return file;
        if (errno != EEXIST)
            throw Error(fmt::format("cannot write '{}': {}; type another file behind -J", file,
                                    std::strerror(errno)));
    }
    throw Error("'" + wanted + "' is there " + std::to_string(most_files) +
                " times; type another file behind -J");
}

// "2026-11-23 20:15:00", in UTC, of "2026-11-23T20:15:00.123Z".
std::string without_zone(const std::string& time) {
    return time.size() < 19 ? time : time.substr(0, 10) + " " + time.substr(11, 8);
}

// Truth is a text there.
std::string said(bool is_so) { return is_so ? "true" : "false"; }

// 22809 of "2.28.9".
Json nccl_version(const Launch& launch) {
    int major = 0, minor = 0, patch = 0;
    if (!launch.nccl ||
        std::sscanf(launch.nccl->version.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3)
        return {};
    return major * 10'000 + minor * 100 + patch;
}

// Without a fraction where it has none: readers may want whole numbers.
Json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json config(const BenchOptions& options, const Launch& launch, bool per_iteration) {
    const auto& protocol = options.sweep.protocol;
    const TextByName& asked = options.run.as_understood;
    Json json{{"nthreads", options.run.ranks.threads.value_or(1)},
              {"ngpus", 1},
              {"minimum_bytes", parse_bytes(asked.at("minbytes")).count},
              {"maximum_bytes", parse_bytes(asked.at("maxbytes")).count}};
    if (const std::string& step = asked.at("stepbytes"); !step.empty())
        json["step_bytes"] = parse_bytes(step).count;
    else
        json["step_factor"] = number(std::stod(asked.at("stepfactor")));
    json["warmup_iters"] = protocol.warm_up_calls;
    json["iterations"] = protocol.fixed_samples;  // 0: as many as the interval needs
    json["aggregated_iterations"] = 1;
    json["validation"] = options.sweep.check ? 1 : 0;
    json["graph"] = options.runs_on_devices > 1 ? options.runs_on_devices : 0;
    json["blocking_collectives"] = said(protocol.sync == Protocol::Sync::barrier);
    json["per_iter_timing"] = said(per_iteration);
    json["per_iter_skip"] = 0;
    json["parallel_init"] = said(false);
    json["devices"] = Json::array();
    for (const RankPlace& place : launch.ranks)
        json["devices"].push_back({{"rank", place.rank.index},
                                   {"group", 0},
                                   {"pid", place.pid},
                                   {"hostname", place.host},
                                   {"device", place.rank.index % std::max(launch.ppn, 1)},
                                   {"device_hex", place.gpu_uuid},
                                   {"device_info", "cores " + place.cpuset}});
    return json;
}

Json placement(const Point* point) {
    if (point == nullptr) return {};
    const Check& check = point->measured.check;
    return {{"time", static_cast<double>(point->time.p50) / 1000},
            {"alg_bw", point->bandwidth.algbw},
            {"bus_bw", point->bandwidth.busbw},
            {"nwrong", check.state == CheckState::skipped ? Json() : Json(check.n_wrong)}};
}

Json iterations(const Point& point) {
    const auto us = [](auto ns) { return static_cast<double>(ns) / 1000; };
    const Summary& time = point.time;
    const CallStatistics calls = statistics_of_calls(point.measured.samples);
    Json samples = Json::array();
    for (const std::int64_t sample : point.measured.samples) samples.push_back(us(sample));
    return {{"skipped_iterations", 0},      {"min_us", us(time.min)},
            {"max_us", us(time.max)},       {"avg_us", us(calls.mean_ns)},
            {"p50_us", us(calls.p50_ns)},   {"p95_us", us(calls.p95_ns)},
            {"p99_us", us(calls.p99_ns)},   {"stdev_us", us(calls.stdev_ns)},
            {"cv_pct", calls.cv_percent()}, {"times_us", std::move(samples)}};
}

}  // namespace

NcclTestsJson::NcclTestsJson(const BenchOptions& options, const Launch& launch, bool per_iteration)
    : file_(new_file(options.output_file)), per_iteration_(per_iteration) {
    json_ = {{"version", 3}, {"start_time", without_zone(launch.t)}, {"args", Json::array()}};
    json_["args"].push_back("tutti");
    json_["args"].push_back(options.run.command);
    for (const std::string& word : options.run.arguments) json_["args"].push_back(word);
    json_["env"] = Json::array();
    for (const auto& [name, value] : launch.env) json_["env"].push_back(name + "=" + value);
    json_["nccl_version"] = nccl_version(launch);
    json_["config"] = config(options, launch, per_iteration);
    json_["results"] = Json::array();
}

void NcclTestsJson::add(const TableRow& row) {
    const Point* out = measured_or_none(row.out_of_place);
    const Point* in = measured_or_none(row.in_place);
    const Point* known = out != nullptr ? out : in;
    if (known == nullptr) return;
    const Key& key = known->key;
    Json json{{"size", key.bytes.count},
              {"count", key.count},
              {"type", name_of(key.dtype)},
              {"redop", key.op ? name_of(*key.op) : "none"},
              {"root", std::to_string(key.root ? key.root->index : -1)},
              {"out_of_place", placement(out)}};
    if (per_iteration_ && out != nullptr) json["out_of_place_per_iter"] = iterations(*out);
    json["in_place"] = placement(in);
    if (per_iteration_ && in != nullptr) json["in_place_per_iter"] = iterations(*in);
    json["actual_iterations"] = known->time.n;
    json["experiment_name"] = "";
    json_["results"].push_back(std::move(json));
}

void NcclTestsJson::end(const TableTotals& totals, std::optional<bool> okay) {
    json_["out_of_bounds"] = {{"count", totals.wrong}, {"okay", said(totals.is_right)}};
    json_["average_bus_bandwidth"] = {{"bandwidth", totals.busbw},
                                      {"okay", okay ? said(*okay) : "unchecked"}};
    json_["end_time"] = without_zone(utc_now());
    json_["errors"] = Json::array();
    write_file(file_, one_line(json_) + "\n", "-J");
}

}  // namespace tutti
