// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/lbfgs.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/index.hpp"

namespace tutti {
namespace {

// to += factor * from
void add(double factor, std::span<const float> from, std::span<float> to) {
    const auto by = static_cast<float>(factor);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += by * from[i];
}

void scale(double factor, std::span<float> values) {
    for (float& value : values) value *= static_cast<float>(factor);
}

}  // namespace

double local_dot(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

Lbfgs::Lbfgs(Objective objective, std::size_t weights, LbfgsOptions options)
    : objective_(std::move(objective)),
      options_(options),
      gradient_(weights),
      next_gradient_(weights),
      direction_(weights),
      trial_(weights) {}

double Lbfgs::dot(std::span<const float> a, std::span<const float> b) {
    ++now_.dots;
    return objective_.dot(a, b);
}

double Lbfgs::evaluate(std::span<const float> weights, std::span<float> gradient) {
    ++(gradient.empty() ? now_.losses : now_.gradients);
    return objective_.evaluate(weights, gradient);
}

Lbfgs::Step Lbfgs::step(std::span<float> weights) {
    assert(weights.size() == gradient_.size());
    now_ = {};
    if (!has_gradient_) loss_ = evaluate(weights, gradient_);
    has_gradient_ = true;
    const double gradient_square = dot(gradient_, gradient_);
    now_.gradient_norm = std::sqrt(gradient_square);
    find_direction();
    double slope = dot(gradient_, direction_);
    if (!(slope < 0) && !changes_.empty()) {  // rounding made it no descent
        changes_.clear();
        find_direction();
        slope = -gradient_square;
    }
    now_.length = slope < 0 ? search(weights, slope) : 0;
    now_.ended = now_.length == 0;
    if (now_.ended) {
        changes_.clear();
    } else {
        loss_ = evaluate(trial_, next_gradient_);
        save_state(weights, gradient_square);
        std::swap(gradient_, next_gradient_);
        std::copy(trial_.begin(), trial_.end(), weights.begin());
    }
    now_.loss = loss_;
    return now_;
}

// The two-loop recursion: backwards through the changes, newest first; scaled by the newest
// curvature; and forwards again.
void Lbfgs::find_direction() {
    std::copy(gradient_.begin(), gradient_.end(), direction_.begin());
    std::vector<double> taken(changes_.size());
    for (std::size_t i = changes_.size(); i-- > 0;) {
        taken[i] = dot(changes_[i].weights, direction_) / changes_[i].curvature;
        add(-taken[i], changes_[i].gradient, direction_);
    }
    if (!changes_.empty()) scale(changes_.back().curvature / newest_gradient_square_, direction_);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
        const double back = dot(changes_[i].gradient, direction_) / changes_[i].curvature;
        add(taken[i] - back, changes_[i].weights, direction_);
    }
    scale(-1, direction_);
}

// Returns the step length at which the loss has fallen enough, with trial_ there; 0 if there is
// none.
double Lbfgs::search(std::span<const float> weights, double slope) {
    // The scale is unknown at first: tries a step of length one.
    double length = changes_.empty() ? std::min(1.0, 1 / now_.gradient_norm) : 1;
    for (int trial = 0; trial < options_.most_trials; ++trial) {
        std::copy(weights.begin(), weights.end(), trial_.begin());
        add(length, direction_, trial_);
        const double loss = evaluate(trial_, {});
        if (loss < loss_ && loss <= loss_ + options_.sufficient_decrease * length * slope)
            return length;
        // Tries the minimum of the parabola, unless that step is too long or too short.
        const double best = -slope * length * length / (2 * (loss - loss_ - slope * length));
        length = std::isfinite(best) ? std::clamp(best, length / 10, length / 2) : length / 10;
    }
    return 0;
}

void Lbfgs::save_state(std::span<const float> weights, double gradient_square) {
    Change change{trial_, next_gradient_, 0};
    add(-1, weights, change.weights);
    add(-1, gradient_, change.gradient);
    change.curvature = dot(change.weights, change.gradient);
    const double square = dot(change.gradient, change.gradient);
    // Li & Fukushima 2001: the remaining changes keep the direction a descent.
    const double enough = 1e-6 * std::sqrt(gradient_square) * dot(change.weights, change.weights);
    if (!(change.curvature > enough)) return;
    newest_gradient_square_ = square;
    changes_.push_back(std::move(change));
    if (changes_.size() > as_size(options_.history)) changes_.pop_front();
}

}  // namespace tutti
