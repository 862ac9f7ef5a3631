// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace tutti {

/// The function that L-BFGS minimises. Where data is spread over ranks, each call ends in an
/// all-reduce of a gradient or of one number. All ranks must get the same values bit for bit,
/// because these decide how often they call.
struct Objective {
    /// The loss at `weights`, and its gradient written to `gradient`, or nothing where that is
    /// empty: the line search asks for the loss alone.
    std::function<double(std::span<const float> weights, std::span<float> gradient)> evaluate;

    /// The sum of a[i] b[i]. Ranks may each add up a part of it.
    std::function<double(std::span<const float> a, std::span<const float> b)> dot;
};

/// The sum in double precision, from the first to the last.
double local_dot(std::span<const float> a, std::span<const float> b);

struct LbfgsOptions {
    int history = 10;
    double sufficient_decrease = 1e-4;  // Armijo's c1
    int most_trials = 20;               // in one line search
};

/// Limited-memory BFGS (Nocedal & Wright 2006, algorithms 7.4 and 7.5): Newton's direction from
/// the last m changes of weights and gradient, by 2 m + 5 dot products a step or fewer; then a line
/// search by halving (Armijo, algorithm 3.1, with the minimum of the parabola through what is
/// known). Halving does not ensure a positive curvature: a change without it is skipped.
class Lbfgs {
public:
    Lbfgs(Objective objective, std::size_t weights, LbfgsOptions options = {});

    struct Step {
        double loss = 0;           // after it
        double gradient_norm = 0;  // before it
        double length = 0;         // the line search's: 1 is Newton's step
        int losses = 0;            // evaluations without gradient
        int gradients = 0;         // evaluations with gradient
        int dots = 0;
        bool ended = false;  // no lower loss was to be found: weights are as before
    };

    /// Does one step down. Once it has ended, further steps restart along the steepest descent.
    Step step(std::span<float> weights);

private:
    struct Change {
        std::vector<float> weights;
        std::vector<float> gradient;
        double curvature = 0;  // weights . gradient, positive
    };

    double dot(std::span<const float> a, std::span<const float> b);
    double evaluate(std::span<const float> weights, std::span<float> gradient);
    void find_direction();
    double search(std::span<const float> weights, double slope);
    void save_state(std::span<const float> weights, double gradient_square);

    Objective objective_;
    LbfgsOptions options_;
    Step now_;
    bool has_gradient_ = false;
    double loss_ = 0;
    std::vector<float> gradient_;
    std::vector<float> next_gradient_;
    std::vector<float> direction_;
    std::vector<float> trial_;
    std::deque<Change> changes_;  // the oldest first
    double newest_gradient_square_ = 0;
};

}  // namespace tutti
