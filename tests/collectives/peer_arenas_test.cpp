// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "collectives/world/heap.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

constexpr std::size_t page = 4096, most = std::size_t{1} << 30;

// A process whose heap consists of some pages, each of which holds its number.
class Owner {
public:
    explicit Owner(int seals = F_SEAL_SHRINK) : file_(memfd_create("heap", MFD_ALLOW_SEALING)) {
        grow(4);
        EXPECT_EQ(fcntl(file_.number, F_ADD_SEALS, seals), 0);
        child_ = fork();
        if (child_ == 0)
            for (;;) pause();
    }
    ~Owner() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

    void grow(int pages) {
        EXPECT_EQ(ftruncate(file_.number, static_cast<off_t>(pages * page)), 0);
        for (; pages_ < pages; ++pages_)
            EXPECT_EQ(
                pwrite(file_.number, &pages_, sizeof pages_, static_cast<off_t>(pages_ * page)),
                static_cast<ssize_t>(sizeof pages_));
    }
    HeapPlace place(std::size_t number, std::size_t bytes = page) const {
        struct stat seen {};
        EXPECT_EQ(fstat(file_.number, &seen), 0);
        return {.process = child_,
                .descriptor = file_.number,
                .device = seen.st_dev,
                .inode = seen.st_ino,
                .offset = number * page,
                .bytes = bytes,
                .arena_bytes = static_cast<std::uint64_t>(seen.st_size),
                .arena_most = most};
    }

private:
    OpenFile file_;
    int pages_ = 0;
    pid_t child_ = 0;
};

int number_in(const std::byte* memory) { return *reinterpret_cast<const int*>(memory); }

void expect_refused(const HeapPlace& place, const std::string& why) {
    PeerArenas arenas;
    EXPECT_TRUE(holds(thrown_by([&] { arenas.address_of(place); }).text, why));
}

TEST(PeerArenas, AreMappedOnceAndShowWhatTheOwnerWrites) {
    Owner owner, other;
    PeerArenas arenas;
    std::byte* const first = arenas.address_of(owner.place(0));
    for (int number = 0; number < 4; ++number) {
        std::byte* const there = arenas.address_of(owner.place(static_cast<std::size_t>(number)));
        EXPECT_EQ(there, first + number * static_cast<int>(page));
        EXPECT_EQ(number_in(there), number);
    }
    std::byte* const of_other = arenas.address_of(other.place(0));
    EXPECT_TRUE(of_other >= first + most || of_other + most <= first);
    EXPECT_EQ(arenas.address_of(owner.place(2, 2 * page)), first + 2 * page);
}

TEST(PeerArenas, AreMappedOnceForAllCommunicatorsOfAProcess) {
    Owner owner;
    auto arenas = std::make_unique<PeerArenas>();
    std::byte* const first = arenas->address_of(owner.place(0));
    PeerArenas others;
    EXPECT_EQ(others.address_of(owner.place(1)), first + page);
    arenas.reset();
    EXPECT_EQ(number_in(others.address_of(owner.place(1))), 1);
}

TEST(PeerArenas, GrowWhereTheyAre) {
    Owner owner;
    PeerArenas arenas;
    std::byte* const first = arenas.address_of(owner.place(0));
    owner.grow(10000);
    std::byte* const last = arenas.address_of(owner.place(9999));
    EXPECT_EQ(last, first + 9999 * page);
    EXPECT_EQ(number_in(last), 9999);
}

TEST(PeerArenas, RefuseWhatLiesBeyondTheEndOfTheFile) {
    Owner owner;
    const std::string why = "smaller";
    expect_refused(owner.place(4), why);
    expect_refused(owner.place(3, page + 1), why);
    expect_refused(owner.place(0, ~std::size_t{0}), why);
    expect_refused(owner.place(~std::size_t{0} / page, page), why);
    PeerArenas arenas;
    EXPECT_NO_THROW(arenas.address_of(owner.place(3)));
    EXPECT_THROW(arenas.address_of(owner.place(4)), Error);
}

TEST(PeerArenas, NeverReachFurtherThanWasSaidTheyMayGrow) {
    Owner owner;
    HeapPlace place = owner.place(3);
    place.arena_most = 3 * page;
    expect_refused(place, "smaller");
}

TEST(PeerArenas, RefuseAnotherFileUnderTheSameNumbers) {
    Owner owner;
    const std::string why = "cannot be opened";
    for (auto wrong : {&HeapPlace::device, &HeapPlace::inode}) {
        HeapPlace place = owner.place(0);
        ++(place.*wrong);
        expect_refused(place, why);
    }
    HeapPlace place = owner.place(0);
    place.descriptor = 0;
    expect_refused(place, why);
    place.descriptor = 999999;
    expect_refused(place, why);
    place = owner.place(0);
    place.process = 999999999;
    expect_refused(place, why);
}

TEST(PeerArenas, RefuseAFileThatMayShrink) {
    Owner owner(0);
    expect_refused(owner.place(0), "not sealed");
}

TEST(PeerArenas, ReportALackOfAddresses) {
    Owner owner;
    HeapPlace place = owner.place(0);
    place.arena_most = std::uint64_t{1} << 60;
    expect_refused(place, "cannot be mapped");
}

}  // namespace
}  // namespace tutti
