// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/collective_spec.hpp"

namespace tutti {

std::int64_t CollectiveSpec::blocks() const {
    const std::int64_t p = ranks_;
    switch (collective_) {
        case Collective::all_reduce:
        case Collective::broadcast:
        case Collective::reduce:
            return 1;
        case Collective::all_to_all:
            return p * p;
        default:
            return p;
    }
}

bool CollectiveSpec::starts_with(Rank rank, std::int64_t block) const {
    switch (collective_) {
        case Collective::all_reduce:
        case Collective::reduce:
        case Collective::reduce_scatter:
            return true;
        case Collective::broadcast:
        case Collective::scatter:
            return rank == root_;
        case Collective::all_gather:
        case Collective::gather:
            return block == rank.index;
        case Collective::all_to_all:
            return block / ranks_ == rank.index;
    }
    return false;
}

bool CollectiveSpec::ends_with(Rank rank, std::int64_t block) const {
    switch (collective_) {
        case Collective::all_reduce:
        case Collective::broadcast:
        case Collective::all_gather:
            return true;
        case Collective::reduce:
        case Collective::gather:
            return rank == root_;
        case Collective::scatter:
        case Collective::reduce_scatter:
            return block == rank.index;
        case Collective::all_to_all:
            return block % ranks_ == rank.index;
    }
    return false;
}

Rank CollectiveSpec::source_of(std::int64_t block) const {
    switch (collective_) {
        case Collective::all_gather:
        case Collective::gather:
            return {static_cast<int>(block)};
        case Collective::all_to_all:
            return {static_cast<int>(block / ranks_)};
        default:
            return root_;
    }
}

std::int64_t CollectiveSpec::place_in_input(Rank, std::int64_t block) const {
    switch (collective_) {
        case Collective::all_gather:
        case Collective::gather:
            return 0;
        case Collective::all_to_all:
            return block % ranks_;
        default:
            return block;
    }
}

std::int64_t CollectiveSpec::place_in_output(Rank, std::int64_t block) const {
    switch (collective_) {
        case Collective::scatter:
        case Collective::reduce_scatter:
            return 0;
        case Collective::all_to_all:
            return block / ranks_;
        default:
            return block;
    }
}

std::int64_t CollectiveSpec::block_in_output(Rank rank, std::int64_t place) const {
    switch (collective_) {
        case Collective::scatter:
        case Collective::reduce_scatter:
            return rank.index;
        case Collective::all_to_all:
            return place * ranks_ + rank.index;
        default:
            return place;
    }
}

std::int64_t CollectiveSpec::input_blocks(Rank rank) const {
    switch (collective_) {
        case Collective::broadcast:
        case Collective::scatter:
            return rank == root_ ? blocks() : 0;
        case Collective::all_gather:
        case Collective::gather:
            return 1;
        case Collective::all_to_all:
            return ranks_;
        default:
            return blocks();
    }
}

std::int64_t CollectiveSpec::output_blocks(Rank rank) const {
    switch (collective_) {
        case Collective::reduce:
        case Collective::gather:
            return rank == root_ ? blocks() : 0;
        case Collective::scatter:
        case Collective::reduce_scatter:
            return 1;
        case Collective::all_to_all:
            return ranks_;
        default:
            return blocks();
    }
}

}  // namespace tutti
