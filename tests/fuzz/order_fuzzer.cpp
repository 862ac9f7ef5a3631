// SPDX-License-Identifier: Apache-2.0
// The first byte is the number of ranks, the rest the file. Reading it gives channels that each
// have every rank once, or a one-line error with the file.
#include <algorithm>

#include "tests/fuzz/demand.hpp"
#include "topology/placement/order.hpp"

namespace {

using namespace tutti;

void use(const Order& order, int ranks) {
    for (std::vector<Rank> channel : order.channels) {
        std::ranges::sort(channel);
        for (int rank = 0; rank < ranks; ++rank)
            demand(channel.at(static_cast<std::size_t>(rank)) == Rank{rank}, "each rank is there");
        demand(std::ssize(channel) == ranks, "and no other");
    }
    for (const int count : {1, 2, 7})
        demand(channels_of(order, count, ranks).channels.size() ==
                   order.channels.size() * static_cast<std::size_t>(count),
               "the number of channels");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("order");
    if (size == 0) return 0;
    const int ranks = 1 + data[0] % 16;
    const std::string file = folder.file("order", text_of(data + 1, size - 1));
    try {
        use(read_order(file, ranks), ranks);
    } catch (const Error& error) {
        demand_one_line(error);
        demand(std::string(error.what()).starts_with(file), error.what());
    }
    return 0;
}
