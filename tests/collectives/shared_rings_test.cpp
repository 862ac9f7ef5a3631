// SPDX-License-Identifier: Apache-2.0
// Messages between devices by rings in memory that ranks share. That plans over them are right is
// shown by staged_test over shm.
#include <gtest/gtest.h>

#include "collectives/transport/gpu/staged.hpp"
#include "far_device.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using test::FarDevice;

constexpr std::size_t piece = 256;
constexpr std::size_t most_bytes = 5000;

// A rank's device, a queue of a plan, and an endpoint with rings of three pieces of 256 bytes.
struct End {
    World& world;
    FarDevice& device;
    DeviceQueue& queue;
    Endpoint& endpoint;

    Rank me() const { return world.rank(); }
    Rank other() const { return Rank{1 - me().index}; }
    std::shared_ptr<std::byte> filled(std::size_t bytes, unsigned seed) {
        const auto memory = device.allocate(bytes);
        for (std::size_t i = 0; i < bytes; ++i) device.seen(memory.get())[i] = value(i, seed);
        return memory;
    }
    bool holds(const std::shared_ptr<std::byte>& memory, std::size_t bytes, unsigned seed) const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (device.seen(memory.get())[i] != value(i, seed)) return false;
        return true;
    }
    void finish() {
        while (!endpoint.all_done()) continue;
    }

private:
    static std::byte value(std::size_t place, unsigned seed) {
        return static_cast<std::byte>((place * 7 + place / piece + seed * 31) & 0xff);
    }
};

void between(int ranks, const std::function<void(End&)>& body) {
    run_as_threads(ranks, 20, [&](World& world) {
        FarDevice device(7U + static_cast<unsigned>(world.rank().index));
        const auto transport = shared_rings_transport(
            world, device, {.piece = piece, .least_piece = piece, .ring = 4096, .slots = 3});
        const auto queue = device.queue();
        std::vector<Rank> peers;
        for (int peer = 0; peer < ranks; ++peer)
            if (peer != world.rank().index) peers.push_back(Rank{peer});
        auto endpoint = transport->connect({.plan = 0,
                                            .most_posts = 16,
                                            .most_to_one = 4,
                                            .most_bytes = most_bytes,
                                            .peers = peers,
                                            .queue = queue.get()});
        End end{world, device, *queue, *endpoint};
        body(end);
        world.barrier();
        endpoint.reset();
        EXPECT_EQ(device.known(), 0u) << "memory is let go with the endpoint";
        world.barrier();
    });
}

TEST(SharedRings, AreKnownToBothDevicesAndCostOneCopyAtEitherEnd) {
    between(2, [](End& end) {
        EXPECT_EQ(end.device.known(), 2u) << "its own and the peer's";
        for (const std::size_t bytes : {1, 255, 256, 257, 768, 769, 5000}) {
            const auto out = end.filled(bytes, 1), in = end.device.allocate(bytes);
            const long before = end.device.copies;
            end.endpoint.post_receive(0, end.other(), {in.get(), bytes});
            end.endpoint.post_send(0, end.other(), {out.get(), bytes});
            end.finish();
            EXPECT_TRUE(end.holds(in, bytes, 1)) << bytes;
            EXPECT_EQ(end.device.copies - before, 2 * static_cast<long>((bytes + 255) / 256));
        }
        EXPECT_EQ(end.endpoint.left_over(), std::nullopt);
    });
}

TEST(SharedRings, SendWhatTheQueueIsStillToWriteAndOverwriteNothingThatItReads) {
    between(2, [](End& end) {
        const std::size_t bytes = 1000;
        const auto first = end.filled(bytes, 3), out = end.device.allocate(bytes),
                   kept = end.device.allocate(bytes), in = end.filled(bytes, 4);
        end.queue.copy(out.get(), first.get(), bytes);
        end.queue.copy(kept.get(), in.get(), bytes);
        end.endpoint.post_receive(0, end.other(), {in.get(), bytes});
        end.endpoint.post_send(0, end.other(), {out.get(), bytes});
        end.finish();
        EXPECT_TRUE(end.holds(in, bytes, 3));
        EXPECT_TRUE(end.holds(kept, bytes, 4));
    });
}

TEST(SharedRings, KeepTheOrderOfMessagesWhateverTheirSizes) {
    between(3, [](End& end) {
        std::mt19937 same(5);
        for (int step = 0; step < 20; ++step) {
            struct In {
                std::shared_ptr<std::byte> memory;
                std::size_t bytes;
                unsigned seed;
            };
            std::vector<In> ins;
            std::vector<std::shared_ptr<std::byte>> outs;
            for (int from = 0; from < 3; ++from)
                for (int to = 0; to < 3; ++to)
                    for (unsigned i = same() % 4; from != to && i > 0; --i) {
                        const std::size_t bytes = same() % 3 == 0 ? 0 : same() % most_bytes;
                        const auto seed = static_cast<unsigned>(same() % 1000);
                        if (end.me() == Rank{to}) {
                            ins.push_back({end.device.allocate(bytes), bytes, seed});
                            end.endpoint.post_receive(step, Rank{from},
                                                      {ins.back().memory.get(), bytes});
                        } else if (end.me() == Rank{from}) {
                            outs.push_back(end.filled(bytes, seed));
                            end.endpoint.post_send(step, Rank{to}, {outs.back().get(), bytes});
                        }
                    }
            end.finish();
            for (const In& in : ins) EXPECT_TRUE(end.holds(in.memory, in.bytes, in.seed)) << step;
        }
    });
}

TEST(SharedRings, NameThePeerThatTheyWaitFor) {
    between(3, [](End& end) {
        if (end.me() != Rank{0}) return;
        const auto in = end.device.allocate(300);
        end.endpoint.post_receive(0, Rank{2}, {in.get(), 300});
        for (int look = 0; look < 100; ++look) EXPECT_FALSE(end.endpoint.all_done());
        EXPECT_EQ(end.endpoint.waits_for(), Rank{2});
    });
}

TEST(SharedRings, ReportMessagesThatWereNotReceived) {
    between(2, [](End& end) {
        const auto out = end.filled(100, 1);
        if (end.me() == Rank{0}) {
            end.endpoint.post_send(0, Rank{1}, {out.get(), 100});
            end.finish();
        }
        end.world.barrier();
        EXPECT_EQ(end.endpoint.left_over().has_value(), end.me() == Rank{1});
    });
}

TEST(SharedRings, AreRefusedOnAllRanksWhereADeviceCannotKnowTheMemory) {
    class Forgetful final : public MemoryDevice {
    public:
        explicit Forgetful(FarDevice& far) : far_(far) {}
        std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
            return far_.allocate(bytes);
        }
        std::shared_ptr<std::byte> pinned(std::size_t bytes) override { return far_.pinned(bytes); }
        std::shared_ptr<void> register_memory(std::span<std::byte>) override {
            throw Error("no room of pinned memory");
        }
        std::unique_ptr<DeviceQueue> queue() override { return far_.queue(); }

    private:
        FarDevice& far_;
    };
    run_as_threads(2, 20, [](World& world) {
        FarDevice far(1);
        Forgetful forgetful(far);
        const bool forgets = world.rank() == Rank{1};
        MemoryDevice& device = forgets ? static_cast<MemoryDevice&>(forgetful) : far;
        const auto transport = shared_rings_transport(world, device);
        const auto queue = device.queue();
        const auto connect = [&] {
            transport->connect({.plan = 0,
                                .most_posts = 1,
                                .most_to_one = 1,
                                .most_bytes = 8,
                                .peers = {Rank{1 - world.rank().index}},
                                .queue = queue.get()});
        };
        EXPECT_NE(thrown_by(connect).text.find("no room"), std::string::npos);
        world.barrier();
    });
}

// An assumption of the tests above.
TEST(AFarDevice, CopiesOnlyMemoryOfTheHostThatItKnows) {
    FarDevice device(1);
    const auto there = device.allocate(100);
    std::vector<std::byte> here(100);
    const auto queue = device.queue();
    const auto copies = [&] {
        queue->copy(there.get(), here.data(), here.size());
        const auto mark = queue->mark();
        while (!queue->is_past(mark)) continue;
    };
    {
        const auto known = device.register_memory(here);
        EXPECT_NO_THROW(copies());
    }
    EXPECT_THROW(copies(), Error);
}

}  // namespace
}  // namespace tutti
