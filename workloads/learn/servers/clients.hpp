// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "workloads/learn/training/dataset.hpp"

namespace tutti {

/// Whose rows are whose.
enum class ClientData : std::uint8_t {
    iid,      ///< shuffled, then dealt: each client's are like the others'
    by_label  ///< sorted by label, then cut: a client has a few labels only
};

/// The rows of `data` that a client has: [n k / P, n (k + 1) / P) of all in that order. Over all
/// clients each row is somebody's once.
Dataset rows_of_client(const Dataset& data, ClientData how, Rank client, int clients,
                       unsigned seed);

/// Those who take part in a round, ascending: at least one, drawn by seed and round alone, so that
/// every rank knows them.
std::vector<Rank> clients_of_round(std::int64_t round, double fraction, int clients, unsigned seed);

}  // namespace tutti
