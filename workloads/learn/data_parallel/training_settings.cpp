// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/data_parallel/training_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

namespace {

constexpr int default_batch = 32;
constexpr int steps_of_lbfgs = 60;  // enough for every network here to learn the digits

enum class Scaling { strong, weak };

Split data_of(const Settings& settings) {
    const std::string& data = settings.text("data");
    return split(data == "digits" ? digits() : with_unit_range(read_libsvm(data)));
}

int batch_of_rank(const Settings& settings, const TrainingSetup& setup) {
    const int rows = setup.data.train.rows();
    const std::string& typed = settings.text("batch");
    if (setup.is_by_lbfgs()) {
        if (typed != "auto" && typed != "all")
            throw Error("--batch " + typed + " has no effect: lbfgs uses all rows");
        return rows;
    }
    if (typed == "all") return rows;
    if (typed == "auto") return std::min(default_batch, rows);
    return static_cast<int>(settings.number("batch", 1, rows));
}

double rate_of(const Settings& settings, const TrainingSetup& setup) {
    if (!setup.is_by_lbfgs())
        return learning_rate_of(settings, find_optimizer(setup.optimizer).learning_rate);
    if (settings.text("learning-rate") != "auto")
        throw Error("--learning-rate has no effect: lbfgs chooses its own step length");
    return 0;
}

}  // namespace

TrainingSetup training_setup_of(const Settings& settings, int ranks, std::uint64_t seed) {
    TrainingSetup setup;
    const NetworkKind& network = network_of(settings);
    setup.network = network.name;
    setup.optimizer = settings.word<std::string>(
        "optimizer", {{"sgd", "sgd"}, {"adam", "adam"}, {"lbfgs", "lbfgs"}});
    setup.data = data_of(settings);
    setup.seed = static_cast<unsigned>(seed);
    setup.new_network();  // throws if the network is not possible
    const auto scaling =
        settings.word<Scaling>("scaling", {{"strong", Scaling::strong}, {"weak", Scaling::weak}});
    setup.batch = batch_of_rank(settings, setup);
    setup.epochs = epochs_of(settings, setup.is_by_lbfgs() ? steps_of_lbfgs : network.epochs);
    setup.rate = {.of_one_rank = rate_of(settings, setup)};
    const auto warm_up = static_cast<int>(settings.number("warm-up-epochs", 0, 1000));
    if (scaling == Scaling::weak) {
        if (setup.batch > setup.data.train.rows() / ranks)
            throw Error(fmt::format(
                "{} rows for each of {} ranks exceed the {} training rows; use --batch {} or "
                "--scaling strong",
                setup.batch, ranks, setup.data.train.rows(),
                std::max(1, setup.data.train.rows() / ranks)));
        setup.batch *= ranks;
        setup.rate.ranks = ranks;
        setup.rate.warm_up_steps = warm_up * setup.steps_of_epoch();
    }
    setup.rate.steps = setup.steps();
    return setup;
}

std::string describe(const TrainingSetup& setup, int ranks) {
    Network network = setup.new_network();
    const std::string rate =
        setup.is_by_lbfgs() ? ""
                            : fmt::format(" at {:g}", setup.rate.of_one_rank * setup.rate.ranks);
    return fmt::format(
        "{}: {} parameters; {} rows for training, {} for testing; {}{}: {} epochs "
        "of {} steps of {} rows{}",
        setup.network, network.weights().size(), setup.data.train.rows(), setup.data.test.rows(),
        setup.optimizer, rate, setup.epochs, setup.steps_of_epoch(), setup.batch,
        ranks > 1 ? fmt::format(", {} a rank", setup.batch / ranks) : "");
}

const NetworkKind& network_of(const Settings& settings) {
    return find_network(settings.text("network"));
}

int epochs_of(const Settings& settings, int default_value) {
    if (settings.text("epochs") == "auto") return default_value;
    return static_cast<int>(settings.number("epochs", 1, 100000));
}

const OptimizerKind& optimizer_of(const Settings& settings) {
    return find_optimizer(settings.text("optimizer"));
}

double learning_rate_of(const Settings& settings, double default_value) {
    return settings.text("learning-rate") == "auto" ? default_value
                                                    : settings.real("learning-rate", 1e-9, 1000);
}

}  // namespace tutti
