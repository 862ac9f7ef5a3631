// SPDX-License-Identifier: Apache-2.0
// How well the cost model does on this machine: calibrates it with those points of the first file
// that calibration_plan asks for, predicts all points of the others, and compares. (With one file,
// that is both.) Files have one or several rank counts each, which need not be the same.
//   check_model [--points] CORES CALIBRATING.jsonl[,MORE.jsonl] FILE.jsonl...
// Points that several files have count with their median. What choosing by the model alone costs
// is given against the fastest candidate (`regret`); but the fastest of a hundred measured ones is
// so by luck. So it is also picked from every other file and evaluated, as the model's choice is,
// in those between, and the other way round (`fair`). See scripts/check_model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "autotune/model/calibrate.hpp"
#include "autotune/tuner/calibration.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/source.hpp"
#include "base/units.hpp"
#include "results/records/reader.hpp"
#include "topology/detect/detect.hpp"

namespace tutti {
namespace {

// The fields that distinguish calls and candidates.
using CallKey = std::tuple<Collective, BufferKind, int, std::int64_t, std::int64_t>;
using CandidateKey = std::tuple<CallKey, std::string, std::string>;

CallKey call_key(const RoutedCall& call) {
    const int ranks = call.ranks();
    return {call.call.collective, call.buffers, ranks,
            static_cast<std::int64_t>(call.hosts.nodes().size()), call.call.count};
}

CandidateKey key_of(const Configuration& configuration, const RoutedCall& call) {
    return {call_key(call), configuration.algorithm, configuration.transport};
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double at_share(std::vector<double> values, double share) {
    if (values.empty()) return NAN;
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? NAN : sum / static_cast<double>(values.size());
}

// A candidate at a call, as measured in all files, in the odd ones and in the even ones.
struct Measured {
    Observation seen;
    std::vector<double> times[2];

    double half(int number) const {
        return times[number].empty() ? seen.time_ns : median(times[number]);
    }
};

std::vector<Measured> read_all(const std::vector<std::string>& files) {
    std::map<CandidateKey, Measured> merged;
    std::map<CandidateKey, std::size_t> seen_times;
    for (const std::string& file : files)
        for (const Point& point : read_results(file).points)
            if (const auto seen = observation_of(point)) {
                const CandidateKey key = key_of(seen->configuration, seen->call);
                Measured& one = merged[key];
                one.seen = *seen;
                one.times[seen_times[key]++ % 2].push_back(seen->time_ns);
            }
    std::vector<Measured> all;
    for (auto& [key, one] : merged) {
        std::vector<double> times = one.times[0];
        times.insert(times.end(), one.times[1].begin(), one.times[1].end());
        one.seen.time_ns = median(times);
        all.push_back(one);
    }
    return all;
}

std::vector<Observation> probes_of(const std::vector<Measured>& all) {
    std::set<CandidateKey> wanted;
    std::set<std::pair<int, int>> placements;
    for (const Measured& one : all)
        placements.insert(
            {one.seen.call.ranks(), static_cast<int>(one.seen.call.hosts.nodes()[0].size())});
    const std::vector<std::string> transports{"shm", "mpi", "ucx", "hybrid", "loopback"};
    const std::vector<BufferKind> kinds{BufferKind::registered, BufferKind::unregistered};
    for (const auto& [ranks, per_host] : placements)
        for (const ModelProbe& probe :
             calibration_plan(Placement::in_nodes_of(ranks, per_host), transports, kinds))
            wanted.insert(key_of(probe.configuration, probe.call));
    std::vector<Observation> probes;
    for (const Measured& one : all)
        if (wanted.contains(key_of(one.seen.configuration, one.seen.call)))
            probes.push_back(one.seen);
    return probes;
}

// Errors of predictions, and what choosing by them alone would cost.
struct Verdict {
    std::vector<double> errors, regrets, fair;

    void print(const std::string& what) const {
        if (errors.empty() && regrets.empty()) return;
        fmt::print("{:36} {:6} {:8.1f}% {:8.1f}% {:6} {:8.1f}% {:8.1f}% {:8.1f}%\n", what,
                   errors.size(), 100 * at_share(errors, 0.5), 100 * at_share(errors, 0.9),
                   regrets.size(), 100 * mean(regrets), 100 * at_share(regrets, 0.95),
                   100 * mean(fair));
    }
};

// All candidates of a call.
struct Rivals {
    double best[2] = {INFINITY, INFINITY};  // by the one half of the files, and then
    double evaluated[2] = {NAN, NAN};       // in the other
    double best_predicted = INFINITY;
    double chosen[2] = {NAN, NAN};
    double best_of_all = INFINITY, chosen_of_all = NAN;

    void add(const Measured& one, double predicted) {
        for (const int half : {0, 1})
            if (one.half(half) < best[half]) {
                best[half] = one.half(half);
                evaluated[half] = one.half(1 - half);
            }
        best_of_all = std::min(best_of_all, one.seen.time_ns);
        if (predicted >= best_predicted) return;
        best_predicted = predicted;
        chosen_of_all = one.seen.time_ns;
        for (const int half : {0, 1}) chosen[half] = one.half(1 - half);
    }
    void evaluate(Verdict& verdict) const {
        verdict.regrets.push_back(chosen_of_all / best_of_all - 1);
        verdict.fair.push_back((chosen[0] / evaluated[0] + chosen[1] / evaluated[1]) / 2 - 1);
    }
};

std::string size_text(double size) { return to_string(Bytes{static_cast<std::int64_t>(size)}); }

// "step", "message 4K", "reduce 128K".
std::string name_of_term(std::size_t term) {
    if (term < LogGpParameters::message) return std::array{"call", "step", "turn", "link"}[term];
    if (term < LogGpParameters::bytes)
        return fmt::format("message {}",
                           size_text(message_points[term - LogGpParameters::message]));
    const std::size_t curve = (term - LogGpParameters::bytes) / footprint_points.size();
    const std::size_t point = (term - LogGpParameters::bytes) % footprint_points.size();
    return fmt::format("{} {}",
                       std::array{"send", "copy", "reduce", "add", "write", "own", "pack"}[curve],
                       size_text(footprint_points[point]));
}

void check(int cores, const std::vector<std::string>& calibrating,
           const std::vector<std::string>& evaluating, bool shows_points) {
    const std::vector<Observation> probes = probes_of(read_all(calibrating));
    const std::vector<Measured> all = read_all(evaluating.empty() ? calibrating : evaluating);
    const ModelledMachine machine{.cores = cores, .tuning = tuning_from(detect_structure())};
    const CostModel model = calibrate(probes, machine);
    fmt::print("# {} points calibrate, {} evaluate\n", probes.size(), all.size());
    for (const auto& [name, parameters] : model.parameters().within) {
        fmt::print("# {}:", name);
        for (std::size_t term = 0; term < LogGpParameters::terms; ++term)
            fmt::print(" {} {:.4g},", name_of_term(term), parameters.ns[term]);
        fmt::print("\n");
    }
    std::map<std::string, Verdict> verdicts;
    std::map<CallKey, Rivals> calls;
    std::map<std::pair<CallKey, std::string>, Rivals> calls_of_transport;
    for (const Measured& measured : all) {
        const Observation& one = measured.seen;
        const auto predicted = model.predict(one.configuration, one.call);
        if (!predicted) continue;
        const double error = std::abs(*predicted / one.time_ns - 1);
        const std::string ranks = fmt::format("{} ranks", one.call.ranks());
        const std::string collective(name_of(one.call.call.collective));
        verdicts[ranks].errors.push_back(error);
        verdicts[fmt::format("{} {}", ranks, collective)].errors.push_back(error);
        verdicts[fmt::format("{} {} {}", ranks, name_of(one.call.buffers),
                             one.configuration.transport)]
            .errors.push_back(error);
        calls[call_key(one.call)].add(measured, *predicted);
        calls_of_transport[{call_key(one.call), one.configuration.transport}].add(measured,
                                                                                  *predicted);
        if (shows_points)
            fmt::print("{} {} {} {} {} {:.0f} {:.0f}\n", ranks, collective,
                       name_of(one.call.buffers), to_string(one.configuration),
                       total_bytes(one.call.call, one.call.ranks()), one.time_ns, *predicted);
    }
    for (const auto& [key, rivals] : calls) {
        const std::string ranks = fmt::format("{} ranks", std::get<2>(key));
        rivals.evaluate(verdicts[ranks]);
        rivals.evaluate(verdicts[fmt::format("{} {}", ranks, name_of(std::get<0>(key)))]);
    }
    for (const auto& [key, rivals] : calls_of_transport)
        rivals.evaluate(verdicts[fmt::format("{} ranks {} {}", std::get<2>(key.first),
                                             name_of(std::get<1>(key.first)), key.second)]);
    fmt::print("{:36} {:>6} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9}\n", "", "points", "median", "p90",
               "calls", "regret", "p95", "fair");
    for (const auto& [what, verdict] : verdicts) verdict.print(what);
}

}  // namespace
}  // namespace tutti

int main(int words, char** word) {
    const bool shows_points = words > 1 && std::string_view(word[1]) == "--points";
    const int first = shows_points ? 2 : 1;
    if (words < first + 2) {
        fmt::print(
            stderr,
            "usage: check_model [--points] CORES CALIBRATING.jsonl[,MORE] [FILE.jsonl...]\n");
        return 64;
    }
    try {
        std::vector<std::string> calibrating;
        for (const std::string_view file : tutti::split(word[first + 1], ','))
            calibrating.emplace_back(file);
        tutti::check(std::atoi(word[first]), calibrating, {word + first + 2, word + words},
                     shows_points);
    } catch (const tutti::Error& error) {
        fmt::print(stderr, "check_model: {}\n", error.what());
        return 1;
    }
    return 0;
}
