// SPDX-License-Identifier: Apache-2.0
#include "cli/known/kept_model.hpp"

#include <fmt/format.h>

#include "autotune/model/model_comparison.hpp"
#include "autotune/model/model_json.hpp"
#include "cli/known/kept_limits.hpp"

namespace tutti {
namespace {

// A file that cannot be read is replaced.
std::optional<CostModel> known_model(const KnownModels& known, const ModelledMachine& machine) {
    if (known.path && std::filesystem::exists(*known.path)) try {
            return read_model(*known.path);
        } catch (const Error&) {
        }
    const bool is_of_this_machine =
        known.of_table && known.of_table->parameters().machine.fingerprint == machine.fingerprint;
    return is_of_this_machine ? known.of_table : std::nullopt;
}

std::string in_words(const ModelComparison& both, bool keeps_stored) {
    const bool is_because_of_noise = keeps_stored && !both.stored_is_better();
    return fmt::format(
        "# at {} times that neither was fitted to, the new model is off by {:.0f} % in the median, "
        "the stored one by {:.0f} %: the {} one is kept{}\n",
        both.points, 100 * both.new_error, 100 * both.stored_error, keeps_stored ? "stored" : "new",
        is_because_of_noise ? ", as other programs used the cores meanwhile" : "");
}

}  // namespace

std::string keep_better_model(Calibration& calibration, const ModelledMachine& machine,
                              const KnownModels& known) {
    const bool was_disturbed = is_disturbed(calibration.taken);
    std::string lines;
    if (const auto stored = known_model(known, machine)) {
        const ModelComparison both = compare_models(calibration.observations, machine, *stored);
        const bool keeps_stored = both.points > 0 && (was_disturbed || both.stored_is_better());
        if (both.points > 0) lines = in_words(both, keeps_stored);
        calibration.model =
            keeps_stored ? merged(calibration.model, *stored) : merged(*stored, calibration.model);
    }
    if (was_disturbed)
        return lines + fmt::format(
                           "# {} while the model was calibrated: it is not kept for other commands "
                           "(--keep-anyway)\n",
                           in_words_of_taken(calibration.taken));
    if (known.path) try {
            keep_model(calibration.model, *known.path);
        } catch (const Error& error) {  // the table has it in any case
            lines += fmt::format("# the model is not kept: {}\n", error.what());
        }
    return lines;
}

}  // namespace tutti
