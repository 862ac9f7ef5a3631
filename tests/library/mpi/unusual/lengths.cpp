// SPDX-License-Identifier: Apache-2.0
// Lengths that differ between calls and between ranks.
#include <chrono>
#include <thread>

#include "scenarios.hpp"

namespace {

// Pseudo-random numbers, the same on all ranks.
class Numbers {
public:
    int below(int limit) {
        state_ = state_ * 1103515245U + 12345U;
        return static_cast<int>(state_ / 65536U % static_cast<unsigned>(limit));
    }

private:
    unsigned state_ = 12345;
};

class Buffers {
public:
    Buffers(const Job& job, int most)
        : send_(given_by<int>(job.rank, job.size * most)), receive_(send_.size()) {}
    Memory memory(int count) { return {send_.data(), receive_.data(), count}; }

private:
    std::vector<int> send_, receive_;
};

void vary_lengths_and_roots(const Job& world) {
    Buffers buffers(world, 4096);
    Numbers numbers;
    for (int i = 0; i < 150; ++i) {
        const int count = numbers.below(4096) + 1, root = numbers.below(world.size);
        call_each_kind(world, buffers.memory(count), root);
    }
}

void use_each_length_once(const Job& world) {
    Buffers buffers(world, 1000);
    for (int count = 1; count <= 300; ++count)
        call_each_kind(world, buffers.memory(count), count % world.size);
}

void mix_small_and_large(const Job& world) {
    constexpr int large = 500'000;
    Buffers buffers(world, large);
    for (int i = 0; i < many_calls; ++i)
        call_each_kind(world, buffers.memory(i % 50 == 49 ? large : i % 7 + 1), i % world.size);
}

// Ranks exchange particles: no rank knows the lengths that other ranks exchange.
void exchange_particles(const Job& world) {
    const auto size = static_cast<std::size_t>(world.size);
    std::vector<int> send(size * 2000), receive(size * 2000), counts(size), from(size);
    std::vector<int> places(size);
    for (int r = 0; r < world.size; ++r) places[static_cast<std::size_t>(r)] = r * 2000;
    const auto particles = [](int sender, int receiver, int i) {
        return i % 5 == 0 ? 0 : (sender * 31 + receiver * 17 + i * 13) % 2000;
    };
    for (int i = 0; i < 150; ++i) {
        for (int r = 0; r < world.size; ++r) {
            const auto place = static_cast<std::size_t>(r);
            counts[place] = particles(world.rank, r, i);
            std::fill_n(&send[place * 2000], counts[place], 100 * world.rank + r);
        }
        MPI_Alltoall(counts.data(), 1, MPI_INT, from.data(), 1, MPI_INT, world.comm);
        std::ranges::fill(receive, -1);
        MPI_Alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(),
                      from.data(), places.data(), MPI_INT, world.comm);
        bool is_right = true;
        for (int r = 0; r < world.size; ++r)
            for (int j = 0; j < 2000; ++j) {
                const bool is_sent = j < particles(r, world.rank, i);
                is_right = is_right && receive[static_cast<std::size_t>(r * 2000 + j)] ==
                                           (is_sent ? 100 * r + world.rank : -1);
            }
        EXPECT(is_right);
    }
}

// All blocks but one are empty, or all but one are large.
void send_lopsided_blocks(const Job& world) {
    const auto size = static_cast<std::size_t>(world.size);
    std::vector<int> all(size * 3000), counts(size), places(size);
    const auto mine = given_by<int>(world.rank, 3000);
    for (int i = 0; i < 150; ++i) {
        const int one = i % world.size, root = i / 3 % world.size;
        int place = 0;
        for (int r = 0; r < world.size; ++r) {
            const int usual = i % 2 == 0 ? 0 : 3000, odd = i % 2 == 0 ? 3000 : i % 3;
            counts[static_cast<std::size_t>(r)] = r == one ? odd : usual;
            places[static_cast<std::size_t>(r)] = place;
            place += counts[static_cast<std::size_t>(r)];
        }
        const int count = counts[static_cast<std::size_t>(world.rank)];
        const auto is_right = [&] {
            for (int r = 0; r < world.size; ++r)
                for (int j = 0; j < counts[static_cast<std::size_t>(r)]; ++j)
                    if (all[static_cast<std::size_t>(places[static_cast<std::size_t>(r)] + j)] !=
                        given(r, j))
                        return false;
            return true;
        };
        std::ranges::fill(all, -1);
        MPI_Allgatherv(mine.data(), count, MPI_INT, all.data(), counts.data(), places.data(),
                       MPI_INT, world.comm);
        EXPECT(is_right());
        std::ranges::fill(all, -1);
        MPI_Gatherv(mine.data(), count, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT,
                    root, world.comm);
        EXPECT(world.rank != root || is_right());
        std::vector<int> part(3000, -1);
        MPI_Scatterv(all.data(), counts.data(), places.data(), MPI_INT, part.data(), count, MPI_INT,
                     root, world.comm);
        EXPECT(std::equal(part.begin(), part.begin() + count, mine.begin()));
    }
}

// Some ranks are many calls ahead of other ranks.
void run_ahead(const Job& world) {
    Buffers buffers(world, 300);
    std::vector<int> word(300);
    for (int i = 0; i < 20; ++i) {
        if (i % 5 == world.rank) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        // Rank 0 never waits for the others in these.
        for (int j = 0; j < 20; ++j) {
            if (world.rank == 0) std::ranges::fill(word, i + j);
            MPI_Bcast(word.data(), 300, MPI_INT, 0, world.comm);
            EXPECT(word.back() == i + j);
        }
        call_each_kind(world, buffers.memory(i * 10 + 1), i % world.size);
    }
}

const Scenarios scenarios(
    {{"varying", "lengths and roots differ from call to call", vary_lengths_and_roots},
     {"each_once", "300 lengths, each used once", use_each_length_once},
     {"small_and_large", "every 50th block has 2 MB, the others are small", mix_small_and_large},
     {"particles", "ranks exchange blocks whose lengths other ranks do not know",
      exchange_particles},
     {"lopsided", "one block is large and the others are empty, or the reverse",
      send_lopsided_blocks},
     {"ahead", "the root of many broadcasts runs ahead of the other ranks", run_ahead}});

}  // namespace
