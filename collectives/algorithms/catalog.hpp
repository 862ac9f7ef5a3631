// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/configuration.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/types.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/order.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// The default factor per step.
inline constexpr int default_radix = 2;
/// With more peers per step a rank is hardly faster than linear algorithms.
inline constexpr int most_radix = 64;

/// The input of an algorithm, which uses only the parts that it needs.
struct Job {
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    Rank root = {0};
    int segments = 1;  ///< number of segments of pipelined algorithms; others ignore it
    Configuration configuration = {};  ///< algorithms read only its knobs, such as the radix
    Placement placement = {};          ///< the node of each rank; empty: all in one
    Order order = {};                  ///< see build_in_order; algorithms ignore it
};

/// Returns why an algorithm cannot do a job, and which to use instead; nothing if it can.
using Refusal = std::function<std::optional<std::string>(const Job&)>;

/// Returns the bit of a knob in Takes, e.g. knob_bit(&Configuration::radix).
constexpr unsigned knob_bit(const Knob::Member& member) {
    for (std::size_t i = 0; i < knobs.size(); ++i)
        if (knobs[i].member == member) return 2U << i;
    throw Error("a member of Configuration without a row in knobs");
}

/// Parts of a Job that an algorithm uses in addition to ranks and root: the placement, and knobs.
enum class Takes : unsigned {
    nothing = 0,
    placement = 1,
    segments = knob_bit(&Configuration::segment),
    cuts_itself = 1U << 30,
    own_segments = segments | cuts_itself,  ///< segments, but it is not the same to all of them
    radix = knob_bit(&Configuration::radix),
    levels = placement | knob_bit(&Configuration::levels),
    level_algorithms = knob_bit(&Configuration::level_algorithms),
    its_name = 1U << 31,  ///< not a part: `all` and the learner leave it out, see selected_by()
};
constexpr Takes operator|(Takes a, Takes b) {
    return static_cast<Takes>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// One row of the table of algorithms that tests, tuner, command and documents iterate over.
class Algorithm {
public:
    using Build = std::function<Schedule(const Job&)>;

    /// `build_it` need not read Job::segments unless the algorithm takes own_segments: build()
    /// pipelines all others that take segments.
    Algorithm(Collective of, std::string_view row_name, std::string_view sentence, Build build_it,
              Takes takes, Refusal refusal = any_ranks)
        : collective(of),
          name(row_name),
          idea(sentence),
          refuses(std::move(refusal)),
          pipelines(includes(takes, Takes::segments)),
          cuts_itself(includes(takes, Takes::cuts_itself)),
          hierarchical(includes(takes, Takes::placement)),
          takes_radix(includes(takes, Takes::radix)),
          is_default(!includes(takes, Takes::its_name)),
          takes_(takes),
          build_(std::move(build_it)) {}
    Algorithm(Collective of, std::string_view row_name, std::string_view sentence, Build build_it,
              Refusal refusal = any_ranks)
        : Algorithm(of, row_name, sentence, std::move(build_it), Takes::nothing,
                    std::move(refusal)) {}

    /// Throws Error for a radix out of range.
    Schedule build(const Job& job) const;

    /// Whether a word selects it without its name: "all", or "all+" with what "all" leaves out.
    bool selected_by(std::string_view word) const {
        return word == "all+" || (word == "all" && is_default);
    }

    /// Whether its row says that it uses this knob.
    bool takes(const Knob& knob) const { return includes(takes_, Takes{knob_bit(knob.member)}); }

    Collective collective;
    std::string_view name;  ///< kebab-case and stable: results files use it
    std::string_view idea;  ///< one sentence
    Refusal refuses;
    bool pipelines;     ///< uses Job::segments
    bool cuts_itself;   ///< and is not pipelined by build()
    bool hierarchical;  ///< uses Job::placement
    bool takes_radix;   ///< uses the radix: the factor per step
    bool is_default;    ///< included in "all"

private:
    static std::optional<std::string> any_ranks(const Job&) { return std::nullopt; }
    static bool includes(Takes all, Takes one) {
        return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
    }

    Takes takes_;
    Build build_;
};

/// Builds the schedule of a job in its order: the algorithm works on positions, and the order gives
/// the rank at each; each of several channels carries a share of the message. Without an order it
/// returns the algorithm's schedule unchanged. A scan keeps its ranks' order in every channel.
Schedule build_in_order(const Algorithm& algorithm, const Job& job);

/// Every algorithm of every collective; the only list of them.
std::span<const Algorithm> catalog();

/// Adds an algorithm that is not built in, for the functions below; catalog() does not list it. The
/// texts have to outlive the process. Call it before threads are started.
const Algorithm& add_algorithm(Algorithm algorithm);

/// Returns null if the collective has no such algorithm.
const Algorithm* algorithm_called(Collective collective, std::string_view name);

/// Throws Error that names the known algorithms, or the collectives that have one of this name.
const Algorithm& find_algorithm(Collective collective, std::string_view name);

/// Returns the algorithms of one collective, in the order of the catalog; added ones follow.
std::vector<const Algorithm*> algorithms_of(Collective collective);

}  // namespace tutti
