// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_table.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// The news of a job: that it waits for a turn (started to block), or what happened meanwhile.
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
    static constexpr Named<Turn> rows[] = {
        {Turn::go_on, "go on"}, {Turn::go_on_by_steps, "go on by steps"},
        {Turn::renew, "renew"}, {Turn::start_at_barriers, "start at barriers"},
        {Turn::skip, "skip"},   {Turn::stop, "stop"}};
};

/// A message of a job. Fields that do not belong to the news are empty or 0.
struct TurnMessage {
    TurnNews news = TurnNews::started;
    std::string key = {};  ///< started: the key of the comparison, which admits only its own jobs
    bool renews = false;   ///< started: the job supports Turn::renew; older builds do not
    bool may_use_barriers = false;  ///< started: the same for Turn::start_at_barriers
    bool sends_midmeans = false;    ///< started: blocks have them
    std::int64_t trial = 0;         ///< ready and skipped, as are the next three
    std::string call = {};
    std::string candidate = {};
    std::string place = {};                  ///< see place_in_words(); older builds do not say it
    std::string reason = {};                 ///< skipped
    std::int64_t ns = 0;                     ///< block: its median
    double midmean_ns = 0;                   ///< block, see midmean(); older builds do not send it
    std::vector<std::int64_t> ends_ns = {};  ///< steps: see step_ends_of()
    std::int64_t n_wrong = 0;                ///< ended

    /// Returns true if the job now sleeps until it gets an answer.
    bool waits() const { return news != TurnNews::ended && news != TurnNews::skipped; }
};

std::string to_line(const TurnMessage& message);
/// Throws Error for an invalid line.
TurnMessage turn_message_of(std::string_view line);

}  // namespace tutti
