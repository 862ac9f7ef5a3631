// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/trace_forms.hpp"

#include <algorithm>

#include "workloads/traces/arrival_log.hpp"

namespace tutti {
namespace {

bool is_list_of_entries(const JsonValue& document) {
    return document.list() && (document.list()->empty() || has_item_with(document, "comms") ||
                               has_item_with(document, "compute"));
}

// Reads the field "rank" of an object.
std::optional<std::int64_t> rank_in(const JsonValue* object) {
    const JsonValue* const rank = object ? object->find("rank") : nullptr;
    return rank && rank->whole_number() ? std::optional(*rank->whole_number()) : std::nullopt;
}

std::optional<std::int64_t> no_rank(const RankFile&) { return std::nullopt; }

const TraceForm forms[] = {
    {.name = "param",
     .title = "a trace of PARAM",
     .fits = is_list_of_entries,
     .import = ops_of_param,
     .rank = no_rank},
    {.name = "chakra",
     .title = "an execution trace of PyTorch",
     .fits = [](const JsonValue& one) { return one.find("nodes") != nullptr; },
     .import = ops_of_chakra,
     .rank = rank_in_execution_trace},
    {.name = "chakra",
     .title = "a trace of Chakra",
     .fits = [](const JsonValue& one) { return one.find("messages") != nullptr; },
     .import = ops_of_messages,
     .rank = no_rank},
    {.name = "profile",
     .title = "a trace of PyTorch's profiler",
     .fits = [](const JsonValue& one) { return one.find("traceEvents") != nullptr; },
     .import = ops_of_profiler,
     .arrivals = arrivals_in_profiles,
     .rank = [](const RankFile& file) { return rank_in(file.document.find("distributedInfo")); }},
    {.name = "flight-recorder",
     .title = "a dump of PyTorch's flight recorder",
     .fits = [](const JsonValue& one) { return one.find("entries") != nullptr; },
     .import = ops_of_flight_recorder,
     .arrivals = arrivals_in_flight_recorders,
     .rank = [](const RankFile& file) { return rank_in(&file.document); }},
    {.name = "nccl",
     .title = "a log of NCCL's inspector or libtutti_nccl",
     .fits = [](const JsonValue& one) { return one.find("nccl_lines") != nullptr; },
     .import = ops_of_nccl_log,
     .arrivals = arrivals_in_nccl_logs},
    {.name = "nccl-debug",
     .title = "a log of NCCL_DEBUG=INFO",
     .fits = [](const JsonValue& one) { return one.find("nccl_debug") != nullptr; },
     .parse = document_of_nccl_debug,
     .import = ops_of_nccl_debug,
     .arrivals = arrivals_in_nccl_debug},
    {.name = "ras",
     .title = "a snapshot of ncclras",
     .fits = [](const JsonValue& one) { return one.find("communicators_count") != nullptr; },
     .parse = document_of_ras,
     .arrivals = arrivals_in_ras},
    {.name = "mpip",
     .title = "a report of mpiP",
     .fits = [](const JsonValue& one) { return one.find("mpip") != nullptr; },
     .parse = document_of_mpip,
     .arrivals = arrivals_in_mpip},
};

}  // namespace

const TraceForm* form_of(const JsonValue& document) {
    const auto* const form =
        std::ranges::find_if(forms, [&](const TraceForm& one) { return one.fits(document); });
    return form == std::end(forms) ? nullptr : form;
}

std::optional<JsonValue> document_of_text(std::string_view text, const Source& source) {
    for (const TraceForm& form : forms)
        if (form.parse != nullptr)
            if (auto document = form.parse(text, source)) return document;
    return std::nullopt;
}

std::string titles_of_logs() {
    std::string titles;
    for (const TraceForm& form : forms)
        if (form.arrivals != nullptr)
            titles += fmt::format("{}{}", titles.empty() ? "" : ", ", form.title);
    return titles;
}

bool has_item_with(const JsonValue& document, std::string_view field) {
    return document.list() && std::ranges::any_of(*document.list(), [&](const JsonValue& one) {
               return one.find(field) != nullptr;
           });
}

}  // namespace tutti
