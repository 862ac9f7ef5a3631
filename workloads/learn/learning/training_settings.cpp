// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/learning/training_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/learn/learning/learning_settings.hpp"

namespace tutti {
namespace {

constexpr int default_batch = 32;
constexpr int steps_of_lbfgs = 60;  // in which every network here learns the digits

enum class Scaling { strong, weak };

Split data_of(const Settings& asked) {
    const std::string& data = asked.text("data");
    return split(data == "digits" ? digits() : with_unit_range(read_libsvm(data)));
}

int batch_of_rank(const Settings& asked, const TrainingSetup& course) {
    const int rows = course.data.train.rows();
    const std::string& typed = asked.text("batch");
    if (course.is_by_lbfgs()) {
        if (typed != "auto" && typed != "all")
            throw Error("--batch " + typed + ": steps of lbfgs take all rows; leave --batch out");
        return rows;
    }
    if (typed == "all") return rows;
    if (typed == "auto") return std::min(default_batch, rows);
    return static_cast<int>(asked.number("batch", 1, rows));
}

double rate_of(const Settings& asked, const TrainingSetup& course) {
    if (!course.is_by_lbfgs())
        return learning_rate_of(asked, find_optimizer(course.optimizer).learning_rate);
    if (asked.text("learning-rate") != "auto")
        throw Error("lbfgs finds the length of its steps itself; leave --learning-rate out");
    return 0;
}

}  // namespace

TrainingSetup course_of(const Settings& asked, int ranks, std::uint64_t seed) {
    TrainingSetup course;
    const NetworkKind& network = network_of(asked);
    course.network = network.name;
    course.optimizer = asked.word<std::string>(
        "optimizer", {{"sgd", "sgd"}, {"adam", "adam"}, {"lbfgs", "lbfgs"}});
    course.data = data_of(asked);
    course.seed = static_cast<unsigned>(seed);
    course.new_network();  // throws where there can be none
    const auto scaling =
        asked.word<Scaling>("scaling", {{"strong", Scaling::strong}, {"weak", Scaling::weak}});
    course.batch = batch_of_rank(asked, course);
    course.epochs = epochs_of(asked, course.is_by_lbfgs() ? steps_of_lbfgs : network.epochs);
    course.rate = {.of_one_rank = rate_of(asked, course)};
    const auto warm_up = static_cast<int>(asked.number("warm-up-epochs", 0, 1000));
    if (scaling == Scaling::weak) {
        if (course.batch > course.data.train.rows() / ranks)
            throw Error(fmt::format(
                "a batch of {} rows for each of {} ranks cannot be had from {}; type --batch {} or "
                "--scaling strong",
                course.batch, ranks, course.data.train.rows(),
                std::max(1, course.data.train.rows() / ranks)));
        course.batch *= ranks;
        course.rate.ranks = ranks;
        course.rate.warm_up_steps = warm_up * course.steps_of_epoch();
    }
    course.rate.steps = course.steps();
    return course;
}

std::string in_words(const TrainingSetup& course, int ranks) {
    Network network = course.new_network();
    const std::string rate =
        course.is_by_lbfgs() ? ""
                             : fmt::format(" at {:g}", course.rate.of_one_rank * course.rate.ranks);
    return fmt::format(
        "{}: {} parameters; {} rows to learn from, {} to test by; {}{}: {} epochs "
        "of {} steps of {} rows{}",
        course.network, network.weights().size(), course.data.train.rows(), course.data.test.rows(),
        course.optimizer, rate, course.epochs, course.steps_of_epoch(), course.batch,
        ranks > 1 ? fmt::format(", {} a rank", course.batch / ranks) : "");
}

}  // namespace tutti
