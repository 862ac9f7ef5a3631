// SPDX-License-Identifier: Apache-2.0
#include "results/point.hpp"

#include "base/name_table.hpp"

namespace tutti {
namespace {

constexpr Named<Start> start_names[] = {
    {Start::deadline, "deadline"},
    {Start::barrier, "barrier"},
    {Start::back_to_back, "b2b"},
};

constexpr Named<TimeFrom> time_names[] = {
    {TimeFrom::last_arrival, "last_arrival"},
    {TimeFrom::first_arrival, "first_arrival"},
    {TimeFrom::max_local, "max_local"},
};

constexpr Named<CheckState> check_names[] = {
    {CheckState::ok, "ok"},
    {CheckState::fail, "fail"},
    {CheckState::skipped, "skipped"},
};

}  // namespace

std::string_view name_of(Start start) { return name_in(start_names, start); }
std::string_view name_of(TimeFrom from) { return name_in(time_names, from); }
std::string_view name_of(CheckState state) { return name_in(check_names, state); }

Start parse_start(std::string_view text) { return parse_from(start_names, "mode", text); }

TimeFrom parse_time_from(std::string_view text) {
    return parse_from(time_names, "time definition", text);
}

CheckState parse_check_state(std::string_view text) {
    return parse_from(check_names, "check state", text);
}

}  // namespace tutti
