// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "autotune/model/nnls.hpp"
#include "autotune/model/schedule_walk.hpp"
#include "base/error.hpp"
#include "results/records/identity.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {

std::optional<Observation> observation_of(const Point& point) {
    const Key& key = point.key;
    if (point.skipped || !key.configuration.is_ours() || key.inplace ||
        !key.configuration.order.empty() || !key.placement.empty() || !key.blocks.empty() ||
        !key.aggressor.empty() || point.time.p50 <= 0 ||
        (key.buf != "registered" && key.buf != "host"))
        return std::nullopt;
    Observation seen;
    seen.configuration = key.configuration;
    seen.call = {
        .call = {.collective = key.coll,
                 .type = key.dtype,
                 .op = key.op.value_or(Op::sum),
                 .root = key.root.value_or(Rank{0}),
                 .count = key.count},
        .buffers = key.buf == "registered" ? BufferKind::registered : BufferKind::unregistered,
        .hosts = Placement::in_nodes_of(key.nranks, key.ppn)};
    seen.time_ns = static_cast<double>(point.time.p50);
    return seen;
}

namespace {

constexpr int most_rounds = 12;
// Errors (of the logarithm) below this count squared, larger ones linearly, so outliers have less
// weight.
constexpr double small_error = 0.1;
// Weight that holds a curve's neighbours, and parameters without samples, at their prior values.
constexpr double smoothness = 0.05;
constexpr double anchorage = 0.003;
// The largest change of a prediction in one round, as a logarithm.
constexpr double most_change = 1.5;

// Starting values, plausible for any machine; measured times replace them.
LogGpParameters first_guess() {
    LogGpParameters parameters =
        LogGpParameters::uniform(/*step=*/300, /*message=*/200, /*copy=*/0.1, /*reduce=*/0.15);
    parameters.ns[LogGpParameters::call] = 100;
    parameters.ns[LogGpParameters::context_switch] = 2000;
    parameters.ns[LogGpParameters::link] = 0.1;
    for (const PerByte kind : {PerByte::send, PerByte::write, PerByte::own, PerByte::pack})
        std::fill_n(
            parameters.ns.begin() + static_cast<std::ptrdiff_t>(LogGpParameters::begin_of(kind)),
            footprint_points.size(), 0.05);
    return parameters;
}

// Returns whether this term and the next one are neighbours on a curve.
bool continues(std::size_t term) {
    if (term < LogGpParameters::message) return false;
    if (term < LogGpParameters::bytes) return term + 1 < LogGpParameters::bytes;
    return (term + 1 - LogGpParameters::bytes) % footprint_points.size() != 0;
}

class Calibration {
public:
    Calibration(std::span<const Observation> observations, const ModelledMachine& machine) {
        model_.machine = machine;
        std::set<int> ranks;
        for (const Observation& one : observations) {
            auto plan = expected_plan(one.configuration, one.call, machine);
            if (!plan || one.time_ns <= 0) continue;
            const int ranks_of_call = one.call.ranks();
            const std::size_t hosts = one.call.hosts.nodes().size();
            ranks.insert(ranks_of_call);
            if (hosts < static_cast<std::size_t>(ranks_of_call) || hosts == 1)
                model_.within.try_emplace(plan->parameters, first_guess());
            if (hosts > 1) model_.across.try_emplace(plan->parameters, first_guess());
            cases_.push_back({one, std::move(*plan)});
        }
        if (cases_.empty())
            throw Error("nothing to calibrate the model with; measure some of tutti's algorithms");
        model_.ranks.assign(ranks.begin(), ranks.end());
        model_.date = utc_now();
    }

    CostModel run() {
        ModelParameters best = model_;
        double least = INFINITY;
        for (int round = 0; round < most_rounds; ++round) {
            trace();
            if (const double error = typical_error(); error < least) {
                least = error;
                best = model_;
            }
            improve(round);
        }
        trace();
        return CostModel(typical_error() < least ? model_ : best);
    }

private:
    struct Case {
        Observation seen;
        ExpectedPlan plan;
        Itemized path = {};  // with the current parameters
        double error() const { return std::log(path.ns / seen.time_ns); }
    };

    void trace() {
        for (Case& one : cases_) {
            const auto parameters = parameters_for(model_, one.plan, one.seen.call);
            one.path =
                cost_of<Itemized>(one.plan, one.seen.call, *parameters, model_.machine.cores).first;
            one.path.ns = std::max(one.path.ns, 1e-3);
        }
    }

    double typical_error() const {
        double sum = 0;
        for (const Case& one : cases_) sum += std::abs(one.error());
        return sum / static_cast<double>(cases_.size());
    }

    // Each set of parameters is a block of unknowns, in multiples of their current values.
    void improve(int round) {
        std::map<const LogGpParameters*, std::size_t> begin_of;
        std::vector<LogGpParameters*> parameters;
        for (auto* parameters_by_name : {&model_.within, &model_.across})
            for (auto& [name, one] : *parameters_by_name) {
                begin_of[&one] = parameters.size() * LogGpParameters::terms;
                parameters.push_back(&one);
            }
        NonNegativeFit fit(parameters.size() * LogGpParameters::terms);
        std::vector<double> row(parameters.size() * LogGpParameters::terms);
        for (const Case& one : cases_) {
            std::ranges::fill(row, 0);
            const auto of = parameters_for(model_, one.plan, one.seen.call);
            const auto add = [&](const LogGpParameters* charged, std::size_t first) {
                if (charged == nullptr) return;
                for (std::size_t term = 0; term < LogGpParameters::terms; ++term)
                    row[begin_of.at(charged) + term] +=
                        one.path.amount[first + term] * scale_of(term) / one.path.ns;
            };
            add(of->within, 0);
            add(of->across, LogGpParameters::terms);
            // Linearizes the logarithm at the current prediction.
            const double change = std::clamp(-one.error(), -most_change, most_change);
            fit.add(row, 1 + change, 1 / std::max(std::abs(one.error()), small_error));
        }
        add_habits(fit, parameters);
        apply(fit, parameters, round < most_rounds / 2 ? 0.7 : 0.4);
    }

    // Unknowns are multiples of these, so that equal values mean the same for all.
    static double scale_of(std::size_t term) {
        static const LogGpParameters guess = first_guess();
        return guess.ns[term];
    }

    void add_habits(NonNegativeFit& fit, const std::vector<LogGpParameters*>& parameters) const {
        std::vector<double> row(parameters.size() * LogGpParameters::terms);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::size_t term = i % LogGpParameters::terms;
            const double now = parameters[i / LogGpParameters::terms]->ns[term] / scale_of(term);
            row[i] = 1;
            fit.add(row, now, anchorage);
            if (continues(term)) {
                row[i + 1] = -1;
                const double next =
                    parameters[i / LogGpParameters::terms]->ns[term + 1] / scale_of(term + 1);
                fit.add(row, 0, smoothness / std::max(1.0, std::max(now, next)));
                row[i + 1] = 0;
            }
            row[i] = 0;
        }
    }

    static void apply(const NonNegativeFit& fit, const std::vector<LogGpParameters*>& parameters,
                      double pace) {
        std::vector<double> now;
        for (const LogGpParameters* one : parameters)
            for (std::size_t term = 0; term < LogGpParameters::terms; ++term)
                now.push_back(one->ns[term] / scale_of(term));
        const std::vector<double> next = fit.solve(now);
        for (std::size_t i = 0; i < now.size(); ++i)
            parameters[i / LogGpParameters::terms]->ns[i % LogGpParameters::terms] =
                (now[i] + pace * (next[i] - now[i])) * scale_of(i % LogGpParameters::terms);
    }

    ModelParameters model_;
    std::vector<Case> cases_;
};

}  // namespace

CostModel calibrate(std::span<const Observation> observations, const ModelledMachine& machine) {
    return Calibration(observations, machine).run();
}

ModelComparison compare_models(std::span<const Observation> observations,
                               const ModelledMachine& machine, const CostModel& stored) {
    std::vector<Observation> fitted, held_out;
    std::minstd_rand numbers;  // observations are ordered by algorithm
    for (const Observation& one : observations)
        (numbers() % 5 == 0 ? held_out : fitted).push_back(one);
    if (fitted.empty()) return {};
    const CostModel calibrated = calibrate(fitted, machine);
    std::vector<double> errors, errors_of_stored;
    for (const Observation& one : held_out) {
        const auto predicted = calibrated.predict(one.configuration, one.call);
        const auto by_stored = stored.predict(one.configuration, one.call);
        if (!predicted || !by_stored || one.time_ns <= 0) continue;
        errors.push_back(std::abs(*predicted / one.time_ns - 1));
        errors_of_stored.push_back(std::abs(*by_stored / one.time_ns - 1));
    }
    if (errors.empty()) return {};
    return {.points = errors.size(),
            .new_error = median(errors),
            .stored_error = median(errors_of_stored)};
}

}  // namespace tutti
