// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autotune/choice/scale.hpp"

namespace tutti {

namespace {

double octaves_between(Bytes a, Bytes b) { return std::abs(octaves(a, b)); }

struct Seen {
    Bytes size;
    double time_ns = 0;
};

// Returns the measured time of a choice at the size next to the given one.
std::optional<Seen> nearest_time(const Section& section, const Configuration& choice, Bytes size) {
    std::optional<Seen> nearest;
    const auto look_at = [&](const Configuration& of, Bytes at, const TimeInterval& time) {
        if (of != choice || time.n == 0 || time.p50 <= 0) return;
        if (!nearest || octaves_between(at, size) < octaves_between(nearest->size, size))
            nearest = Seen{at, time.p50};
    };
    for (const Range& range : section.ranges)
        for (const RangeEvidence& seen : range.evidence) {
            look_at(range.choice, seen.size, seen.time);
            if (seen.runner_up && seen.runner_up_time)
                look_at(*seen.runner_up, seen.size, *seen.runner_up_time);
        }
    return nearest;
}

TimeInterval predicted(double time_ns) { return {.p50 = time_ns, .low = time_ns, .high = time_ns}; }

}  // namespace

std::optional<double> Estimate::model(const Configuration& choice, const JobShape& job_shape,
                                      Bytes size) const {
    if (!predict_) return std::nullopt;
    const auto time = predict_(choice, seen_.subject, job_shape, size);
    return time && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

std::optional<double> Estimate::operator()(const Configuration& choice, const JobShape& job_shape,
                                           Bytes size) const {
    const auto asked = model(choice, job_shape, size);
    if (!asked) return std::nullopt;
    const auto seen = nearest_time(seen_, choice, size);
    if (!seen) return asked;
    const auto there = model(choice, seen_.job_shape, seen->size);
    if (!there) return asked;
    const double corrected = *asked * (seen->time_ns / *there);
    return std::isfinite(corrected) ? corrected : asked;
}

Range best_of(const Contender& first, const Contender& second, const JobShape& job_shape,
              Bytes from) {
    constexpr Bytes smallest{8};  // the model is inaccurate for empty messages
    const Bytes size = std::max(from, smallest);
    Range range{.from = from, .choice = first.choice, .origin = Origin::interpolated};
    const auto first_time = (*first.estimate)(first.choice, job_shape, size);
    if (!first_time) return range;
    RangeEvidence& evidence = range.evidence.emplace_back();
    evidence = {.size = size, .time = predicted(*first_time)};
    if (second.choice == first.choice) return range;
    const auto second_time = (*second.estimate)(second.choice, job_shape, size);
    if (!second_time) return range;
    evidence.runner_up = second.choice;
    evidence.runner_up_time = predicted(*second_time);
    if (*second_time < *first_time) {
        std::swap(range.choice, *evidence.runner_up);
        std::swap(evidence.time, *evidence.runner_up_time);
    }
    return range;
}

Predictor predictor_of_job_shapes(const CostModel& model) {
    return [=](const Configuration& configuration, const Subject& subject, const JobShape& job,
               Bytes size) {
        const auto [type, op] = representative_of(subject);
        const Call call{.collective = subject.collective,
                        .type = type,
                        .op = op,
                        .count = count_for(subject.collective, type, job.ranks, size)};
        return model.predict(configuration, {.call = call,
                                             .buffers = subject.buffers,
                                             .hosts = Placement::in_nodes_of(
                                                 job.ranks, std::max(job.ranks_per_host, 1))});
    };
}

}  // namespace tutti
