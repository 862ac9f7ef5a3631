// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/arrival_log.hpp"

#include <algorithm>

namespace tutti {
namespace {

std::optional<Collective> collective_of(const std::string& name) {
    try {
        const OpName what = op_of_trace(name);
        return what.kind == TraceOp::Kind::collective ? std::optional(what.collective)
                                                      : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

bool is_collective(const std::string& name) { return collective_of(name).has_value(); }

bool waits_for_all(const std::string& name) {
    const auto what = collective_of(name);
    return what == Collective::all_reduce || what == Collective::all_gather ||
           what == Collective::reduce_scatter || what == Collective::all_to_all ||
           what == Collective::barrier;
}

void add_call(ArrivalLog& log, int rank, const JointCall& call, const std::string& counted,
              std::optional<double> took_ns) {
    std::int64_t& most = log.begun[{call.group, counted}][rank];
    most = std::max(most, call.sequence + 1);
    if (took_ns && waits_for_all(call.name)) log.times_ns[call][rank] = *took_ns;
}

std::optional<double> number_in(const Fields& of, const char* name) {
    if (!of.has(name)) return std::nullopt;
    const JsonValue& value = of.at(name);
    if (const auto* whole = value.whole_number()) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&value.value);
    return real ? std::optional(*real) : std::nullopt;
}

}  // namespace tutti
