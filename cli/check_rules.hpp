// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "autotune/exports/export.hpp"
#include "cli/options/run_plan.hpp"

namespace tutti {

/// Whether a library obeys an export's rules.
struct RulesCheck {
    std::string text;       ///< a line for each rule, and one about calls next to the rules
    bool is_obeyed = true;  ///< by all calls that were checked
};

/// Runs the library with the rules of an export in four launches. In each, some rules name an
/// algorithm that does not exist (Open MPI) or switch all algorithms off (UCC), so that exactly
/// their calls fail; every rule has its turn. HAN and Open MPI 6 report their choice in each call,
/// which one launch reads. `plan` is the command
/// whose options the launches get. Throws Error, also if no rule was checked.
RulesCheck check_rules(const Export& exported, const std::string& launcher, RunPlan plan);

/// Does the work of a rank in such a launch; `part` names the rules that are replaced.
Exit probe_rules(const Export& exported, const std::string& part);

}  // namespace tutti
