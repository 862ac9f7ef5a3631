// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/floors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "results/statistics/bandwidth.hpp"

namespace tutti {

template <>
struct NamesOf<Floor::Quantity> {
    static constexpr const char* kind = "quantity";
    static constexpr Named<Floor::Quantity> rows[] = {{Floor::Quantity::busbw, "busbw"},
                                                      {Floor::Quantity::algbw, "algbw"},
                                                      {Floor::Quantity::p50, "p50"}};
};

namespace {

constexpr std::size_t most_named = 6;

std::vector<std::string> words_in(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
        std::erase_if(word, [](char one) { return one == '(' || one == ')' || one == ','; });
        if (!word.empty()) words.push_back(word);
    }
    return words;
}

// Returns the call and B's candidate and place: "CALL ring (shm) -> tree (shm), 2 ranks" is about
// the tree.
std::vector<std::string> words_about_b(const std::string& metric) {
    const std::size_t arrow = metric.find(" -> ");
    if (arrow == std::string::npos) return words_in(metric);
    std::string call = metric.substr(0, arrow);
    call.resize(std::min(call.find(", "), call.size()));  // ", 2 ranks" of A
    const auto drop_last = [&] { call.resize(std::min(call.rfind(' '), call.size())); };
    if (call.ends_with(')')) drop_last();
    drop_last();
    return words_in(call + metric.substr(arrow + 3));
}

bool is_about(const Floor& floor, const TimeOfCall& call) {
    const std::vector<std::string> words = words_about_b(call.metric);
    const auto has = [&](const std::string& word) {
        return std::ranges::find(words, word) != words.end();
    };
    return words.size() > 1 && words[0] == name_of(floor.collective) &&
           words[1] == to_string(floor.size) && std::ranges::all_of(floor.words, has);
}

double value_of(const Floor& floor, const TimeOfCall& call) {
    if (floor.quantity == Floor::Quantity::p50) return call.ns / 1000;
    if (call.nranks == 0)
        throw Error("'" + floor.typed +
                    "' needs the number of ranks, which is not known where --launcher starts "
                    "them; use a floor of p50");
    const std::vector<std::string> words = words_about_b(call.metric);
    const bool is_ring = std::ranges::find(words, "next") != words.end();
    const Bandwidth reached = bandwidth(floor.collective.collective, call.nranks, floor.size,
                                        call.ns, is_ring ? "next" : "");
    return floor.quantity == Floor::Quantity::busbw ? reached.busbw : reached.algbw;
}

double bound_in(const std::string& text, Floor::Quantity quantity, const std::string& typed) {
    if (quantity == Floor::Quantity::p50) return parse_seconds(text) * 1e6;
    char* end = nullptr;
    const double bound = std::strtod(text.c_str(), &end);
    if (text.empty() || !(bound > 0) || (*end != '\0' && std::string(end) != "GB/s"))
        throw Error("'" + typed + "': '" + text + "' is not a number of GB/s above 0");
    return bound;
}

FloorRecord held_against(const Floor& floor, std::span<const TimeOfCall> calls) {
    const bool is_least = floor.side == Floor::Side::at_least;
    const char* unit = floor.quantity == Floor::Quantity::p50 ? "us" : "GB/s";
    std::string call = fmt::format("{} {}", name_of(floor.collective), to_string(floor.size));
    for (const std::string& word : floor.words) call += " " + word;
    FloorRecord record{.asked = fmt::format("{} {} {} {:g} {}", call, name_of(floor.quantity),
                                            is_least ? "at least" : "at most", floor.bound, unit),
                       .metrics = 0,
                       .bound = floor.bound,
                       .unit = unit};
    for (const TimeOfCall& one : calls) {
        if (!is_about(floor, one)) continue;
        const double value = value_of(floor, one);
        const bool is_worse = is_least ? value < record.value : value > record.value;
        if (record.metrics++ > 0 && !is_worse) continue;
        record.value = value;
        record.metric = one.metric;
    }
    record.met = is_least ? record.value >= floor.bound : record.value <= floor.bound;
    return record;
}

}  // namespace

Floor parse_floor(Floor::Side side, const std::string& typed) {
    std::vector<std::string> words = words_in(typed);
    if (!words.empty() && words.back() == "GB/s") words.pop_back();
    if (words.size() < 4)
        throw Error("'" + typed +
                    "' is incomplete; use a collective, a size, busbw, algbw or p50, and a "
                    "number, as 'all_reduce 1M busbw 20' or 'all_reduce 8 p50 3us'");
    Floor floor{.side = side,
                .collective = parse_collective_form(words[0]),
                .size = parse_bytes(words[1]),
                .words = {words.begin() + 2, words.end() - 2},
                .typed = typed};
    parse_name(words[words.size() - 2], floor.quantity);
    floor.bound = bound_in(words.back(), floor.quantity, typed);
    return floor;
}

std::vector<FloorRecord> hold_against(std::span<const Floor> floors,
                                      std::span<const TimeOfCall> calls) {
    std::vector<FloorRecord> records;
    for (const Floor& floor : floors) {
        records.push_back(held_against(floor, calls));
        if (records.back().metrics > 0) continue;
        std::string there;
        for (const TimeOfCall& call : calls.first(std::min(calls.size(), most_named)))
            there += (there.empty() ? "" : "; ") + call.metric;
        const std::size_t more = calls.size() - std::min(calls.size(), most_named);
        throw Error(fmt::format("'{}' matches no measured result; available: {}{}", floor.typed,
                                there.empty() ? "nothing" : there,
                                more > 0 ? fmt::format("; {} more", more) : ""));
    }
    return records;
}

}  // namespace tutti
