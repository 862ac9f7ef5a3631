// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/servers/clients.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/learn/training/random.hpp"

namespace tutti {
namespace {

// Fisher and Yates.
template <class Value>
void shuffle(std::vector<Value>& values, unsigned long long random) {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[next_random(random) % left]);
}

}  // namespace

Dataset rows_of_client(const Dataset& data, ClientData how, Rank client, int clients,
                       unsigned seed) {
    std::vector<int> order(static_cast<std::size_t>(data.rows()));
    std::iota(order.begin(), order.end(), 0);
    if (how == ClientData::iid)
        shuffle(order, seed);
    else
        std::ranges::stable_sort(
            order, {}, [&](int row) { return data.labels[static_cast<std::size_t>(row)]; });
    Dataset mine{
        .features = {}, .labels = {}, .class_names = data.class_names, .columns = data.columns};
    for (const int row : share_of(order, client, clients)) {
        const auto features = data.row(row);
        mine.features.insert(mine.features.end(), features.begin(), features.end());
        mine.labels.push_back(data.labels[static_cast<std::size_t>(row)]);
    }
    return mine;
}

std::vector<Rank> clients_of_round(std::int64_t round, double fraction, int clients,
                                   unsigned seed) {
    std::vector<Rank> all;
    for (int client = 0; client < clients; ++client) all.push_back(Rank{client});
    shuffle(all, seed * 0x9e3779b97f4a7c15ULL + static_cast<unsigned long long>(round));
    const auto some = static_cast<std::size_t>(
        std::clamp(std::lround(fraction * clients), 1L, static_cast<long>(clients)));
    all.resize(some);
    std::ranges::sort(all);
    return all;
}

}  // namespace tutti
