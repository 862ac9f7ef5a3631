// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_table.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// What a job says: where it waits for a turn (started to block), or what it has seen meanwhile.
enum class TurnNews { started, ready, warm, block, steps, ended, skipped };
template <>
struct NamesOf<TurnNews> {
    static constexpr const char* kind = "message";
    static constexpr Named<TurnNews> rows[] = {
        {TurnNews::started, "started"}, {TurnNews::ready, "ready"}, {TurnNews::warm, "warm"},
        {TurnNews::block, "block"},     {TurnNews::steps, "steps"}, {TurnNews::ended, "ended"},
        {TurnNews::skipped, "skipped"}};
};
template <>
struct NamesOf<Turn> {
    static constexpr const char* kind = "turn";
    static constexpr Named<Turn> rows[] = {{Turn::go_on, "go on"},
                                           {Turn::go_on_by_steps, "go on by steps"},
                                           {Turn::renew, "renew"},
                                           {Turn::skip, "skip"},
                                           {Turn::stop, "stop"}};
};

/// A line of a job. What does not belong to the news is empty or 0.
struct TurnMessage {
    TurnNews news = TurnNews::started;
    std::string key = {};    ///< of started: the comparison's, so that nobody else takes part
    bool renews = false;     ///< of started: it knows Turn::renew, as builds of before do not
    std::int64_t trial = 0;  ///< this and the next two: of ready and skipped
    std::string call = {};
    std::string candidate = {};
    std::string reason = {};                 ///< of skipped
    std::int64_t ns = 0;                     ///< of block: its median
    std::vector<std::int64_t> ends_ns = {};  ///< of steps: see step_ends_of()
    std::int64_t n_wrong = 0;                ///< of ended

    /// Whether the job now sleeps until it is told what to do.
    bool waits() const { return news != TurnNews::ended && news != TurnNews::skipped; }
};

std::string to_line(const TurnMessage& message);
/// Throws Error for what is no such line.
TurnMessage turn_message_of(std::string_view line);

}  // namespace tutti
