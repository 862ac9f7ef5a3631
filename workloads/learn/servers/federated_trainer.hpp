// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/index.hpp"
#include "workloads/learn/servers/all_reduce_trainer.hpp"
#include "workloads/learn/servers/learner.hpp"
#include "workloads/learn/training/dataset.hpp"
#include "workloads/learn/training/optimizer.hpp"

namespace tutti {

/// How rows are distributed to clients.
enum class ClientData : std::uint8_t {
    iid,      ///< shuffled, then cut: alike on all clients
    by_label  ///< sorted by label, then cut: each client has a few labels only
};

/// The rows of a client: [n k / P, n (k + 1) / P) of all in that order.
Dataset rows_of_client(const Dataset& data, ClientData how, Rank client, int clients,
                       unsigned seed);

/// The clients of a round, ascending: at least one, drawn by seed and round alone, so that every
/// rank knows them.
std::vector<Rank> clients_of_round(std::int64_t round, double fraction, int clients, unsigned seed);

/// Federated averaging (McMahan et al. 2017, arXiv:1602.05629). In a round each selected client
/// takes `local_steps` steps of plain gradient descent on its own rows. Then all clients get the
/// mean of the weights, weighted by the number of rows. This takes one all-reduce of n_k w_k and
/// n_k: b (N + 1) bytes a round, where averaging every step takes E times as many.
class FederatedTrainer final : public FreeRunningTrainer {
public:
    struct Rules {
        std::int64_t local_steps = 10;     ///< E
        bool averages_every_step = false;  ///< the baseline
        double fraction = 1;               ///< C, of the clients, in a round
        double learning_rate = 0.1;
        unsigned seed = 1;
    };
    /// The learner's rows are this client's. `reduction` is of one more value than weights.
    FederatedTrainer(World& world, std::unique_ptr<VectorSum> reduction, DigitsLearner& learner,
                     Rules rules);

    void reset() override;
    /// A step is a round.
    StepStamps run(std::int64_t steps, StepPart part) override;
    void gather_weights() override;
    std::vector<Metric> metrics() override;

private:
    void average(bool takes_part);

    World& world_;
    std::unique_ptr<VectorSum> reduction_;
    DigitsLearner& learner_;
    Rules rules_;
    std::unique_ptr<Optimizer> descent_;
    std::vector<float> weights_;  // the learner's are all trainers' in turn
    std::int64_t round_ = 0;
    std::int64_t averages_ = 0;
};

}  // namespace tutti
