// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "autotune/search/evaluator.hpp"
#include "base/index.hpp"

namespace tutti {

/// Random numbers that cost nothing to start (SplitMix64: Steele, Lea & Flood 2014).
struct Draws {
    using result_type = std::uint64_t;
    std::uint64_t state = 0;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() {
        state += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }
};

/// How a model machine disturbs what it knows.
struct Weather {
    double noise = 0.15;       ///< one-sided: times are multiplied by exp(noise |N|)
    double outliers = 0.03;    ///< share of samples that are three times as slow, and more
    double drift = 0.10;       ///< slow swing of the whole machine
    double model_error = 0.3;  ///< logarithmic; below 0: there is no model
    std::uint64_t seed = 1;
};

/// A machine with planted true times: nothing runs, the clock is simulated. The k-th sample of an
/// arm at a size is always the same except for the drift.
class ModelMachine : public Evaluator {
public:
    /// ns at a size; nothing where the arm cannot run.
    using Truth = std::function<std::optional<double>(Bytes)>;

    void add(Arm arm, Truth truth) {
        arms_.push_back(arm);
        truths_.push_back(std::move(truth));
    }
    void set(Weather weather) { weather_ = weather; }
    /// Over as soon as its clock passes this.
    void end_after(double seconds) { end_ns_ = seconds * 1e9; }

    std::optional<double> truth(int arm, Bytes size) const { return at(truths_, arm)(size); }
    double seconds() const { return clock_ns_ / 1e9; }
    std::int64_t samples() const { return samples_; }
    std::size_t set_ups() const { return drawn_.size(); }

    std::span<const Arm> arms() const override { return arms_; }
    bool is_over() const override { return clock_ns_ >= end_ns_; }

    std::vector<std::vector<double>> race(Bytes size, std::span<const int> arms,
                                          int repetitions) override {
        std::vector<std::vector<double>> samples(arms.size());
        for (int repetition = 0; repetition < repetitions; ++repetition)
            for (std::size_t place = 0; place < arms.size() && !is_over(); ++place) {
                // There and back, so that a drift meets all alike.
                const std::size_t i = repetition % 2 == 0 ? place : arms.size() - 1 - place;
                if (truth(arms[i], size)) samples[i].push_back(sample(arms[i], size));
            }
        return samples;
    }

    std::optional<double> predicted_ns(int arm, Bytes size) const override {
        const std::optional<double> time = truth(arm, size);
        if (weather_.model_error < 0 || !time) return std::nullopt;
        // Half of the variance is the arm's, half each size's; all of it too fast by a third.
        Draws of_arm = draws_for(arm, Bytes{-1}, 0);
        Draws of_size = draws_for(arm, size, -1);
        std::normal_distribution<double> normal;
        const double error = (normal(of_arm) + normal(of_size)) / std::numbers::sqrt2;
        return *time * 0.67 * std::exp(weather_.model_error * error);
    }

private:
    Draws draws_for(int arm, Bytes size, int count) const {
        Draws draws{weather_.seed};
        for (const std::int64_t part : {std::int64_t{arm}, size.count, std::int64_t{count}})
            draws.state = draws() ^ static_cast<std::uint64_t>(part);
        return draws;
    }

    double sample(int arm, Bytes size) {
        const double time = *truth(arm, size);
        int& drawn = drawn_[{arm, size}];
        // A plan, and two calls to warm up.
        if (drawn == 0) clock_ns_ += 20e3 + 2 * time;
        Draws draws = draws_for(arm, size, ++drawn);
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        double factor = std::exp(weather_.noise * std::abs(normal(draws)));
        if (uniform(draws) < weather_.outliers) factor *= 3 - std::log(1 - uniform(draws));
        const double swing = std::sin(2 * std::numbers::pi * clock_ns_ / 300e6);
        const double ns = time * factor * (1 + weather_.drift * swing);
        clock_ns_ += ns;
        ++samples_;
        return ns;
    }

    std::vector<Arm> arms_;
    std::vector<Truth> truths_;
    Weather weather_;
    std::map<std::pair<int, Bytes>, int> drawn_;
    double clock_ns_ = 0;
    double end_ns_ = 1e300;
    std::int64_t samples_ = 0;
};

}  // namespace tutti
