// SPDX-License-Identifier: Apache-2.0
#include "results/records/metric.hpp"

#include <algorithm>

#include "base/collective_form.hpp"

namespace tutti {
namespace {

constexpr std::string_view arrow = " -> ";  // compare puts it between two candidates

// Finds ", 4 ranks" in a name; returns the name's size if there is none.
std::size_t begin_of_place(std::string_view name) {
    constexpr std::string_view comma = ", ";
    for (std::size_t at = name.find(comma); at != name.npos; at = name.find(comma, at + 1)) {
        const std::string_view rest = name.substr(at + comma.size());
        const std::size_t digits = rest.find_first_not_of("0123456789");
        if (digits > 0 && digits != rest.npos && rest.substr(digits).starts_with(" rank"))
            return at;
    }
    return name.size();
}

bool names_a_call(std::string_view metric) {
    const std::string_view first = metric.substr(0, metric.find(' '));
    return std::ranges::any_of(all_collective_forms(),
                               [&](const CollectiveForm& form) { return name_of(form) == first; });
}

}  // namespace

std::string place_in_words(int nranks, int ppn, const std::string& placement) {
    std::string words = counted(nranks, "rank");
    if (const int hosts = hosts_of(nranks, ppn); hosts > 1)
        words += " on " + counted(hosts, "host");
    return words + (placement.empty() ? "" : ", " + placement);
}

std::string metric_of(const Key& key) {
    return call_in_words(key) + " " + candidate_in_words(key) + ", " +
           place_in_words(key.nranks, key.ppn, key.placement);
}

std::string metric_of(const StepKey& key) {
    std::string words = key.workload;
    for (const std::string* more :
         {&key.model, &key.compute, &key.settings, &key.buffers, &key.method})
        if (!more->empty()) words += " " + *more;
    return words + ", " + place_in_words(key.nranks, key.ppn, key.placement);
}

std::string without_place(std::string_view metric) {
    std::string name;
    for (;;) {
        const std::size_t end = metric.find(arrow);
        const std::string_view part = metric.substr(0, end);
        name += part.substr(0, begin_of_place(part));
        if (end == metric.npos) return name;
        name += arrow;
        metric.remove_prefix(end + arrow.size());
    }
}

std::string with_ranks(const std::string& metric, int nranks) {
    if (nranks < 1 || !names_a_call(metric) || begin_of_place(metric) < metric.size())
        return metric;
    return metric + ", " + place_in_words(nranks, nranks, "");
}

}  // namespace tutti
