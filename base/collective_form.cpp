// SPDX-License-Identifier: Apache-2.0
#include "base/collective_form.hpp"

#include <algorithm>
#include <vector>

#include "base/name_table.hpp"

namespace tutti {

bool has_blocks(Collective collective) {
    return collective == Collective::reduce_scatter ||
           (!reduces(collective) && collective != Collective::broadcast && has_buffers(collective));
}

std::string name_of(const CollectiveForm& form) {
    return std::string(name_of(form.collective)) + (form.has_lengths ? "_v" : "");
}

std::span<const CollectiveForm> all_collective_forms() {
    static const auto forms = [] {
        std::vector<CollectiveForm> all;
        for (const bool has_lengths : {false, true})
            for (const Collective collective : all_collectives())
                if (!has_lengths || has_blocks(collective))
                    all.push_back({collective, has_lengths});
        return all;
    }();
    return forms;
}

CollectiveForm parse_collective_form(std::string_view text) {
    const auto forms = all_collective_forms();
    const auto found = std::ranges::find_if(
        forms, [&](const CollectiveForm& form) { return name_of(form) == text; });
    if (found != forms.end()) return *found;
    std::vector<std::string> names;
    for (const CollectiveForm& form : forms) names.push_back(name_of(form));
    throw Error(unknown_name("collective", text, names));
}

}  // namespace tutti
