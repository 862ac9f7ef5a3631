// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/failures.hpp"

#include <fmt/format.h>

namespace tutti {
namespace {

void record(Store* store, const std::string& session, const Error& error,
            std::optional<Rank> rank) {
    if (store == nullptr || error.code() == Exit::usage) return;
    Fail fail;
    fail.session = session;
    fail.phase = error.what();
    fail.what = error.code() == Exit::time_out ? "timeout" : "exit";
    fail.rank = rank;
    try {
        store->append(fail);
    } catch (const Error& second) {  // the first is the one to end with
        fmt::print(stderr, "tutti: {}\n", second.what());
    }
}

}  // namespace

Exit recording_failures(World& world, const std::unique_ptr<Store>& store,
                        const std::string& session, const std::function<Exit()>& work) {
    try {
        return work();
    } catch (const OthersFailed& error) {
        record(store.get(), session, error, std::nullopt);
        throw;
    } catch (const Error& error) {
        record(store.get(), session, error, world.rank());
        throw;
    }
}

}  // namespace tutti
