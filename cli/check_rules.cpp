// SPDX-License-Identifier: Apache-2.0
#include "cli/check_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/collective_form.hpp"
#include "base/index.hpp"
#include "base/name_table.hpp"
#include "base/output.hpp"
#include "base/source.hpp"
#include "cli/jobs/job.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/ranks/launcher.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_names.hpp"
#include "collectives/baselines/mpi_probe.hpp"
#include "collectives/schedule/collective_spec.hpp"

namespace tutti {
namespace {

// Some of Open MPI's algorithms call other collectives (all_gather: gather and broadcast), which
// must not fail meanwhile. So each launch replaces rules of one group only.
enum class CallGroup { composed, simple };

CallGroup group_of(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::all_gather ||
                   collective == Collective::reduce_scatter
               ? CallGroup::composed
               : CallGroup::simple;
}

// The rules that a launch replaces: those of a group with even or odd numbers. Without a group, it
// replaces none.
struct ReplacedRules {
    std::string_view name;
    std::optional<CallGroup> group;
    std::size_t remainder = 0;

    bool shows(Collective collective) const { return !group || group_of(collective) == *group; }
    bool has(Collective collective, std::size_t rule) const {
        return group && group_of(collective) == *group && rule % 2 == remainder;
    }
};

constexpr std::array parts{ReplacedRules{"composed-even", CallGroup::composed, 0},
                           ReplacedRules{"composed-odd", CallGroup::composed, 1},
                           ReplacedRules{"simple-even", CallGroup::simple, 0},
                           ReplacedRules{"simple-odd", CallGroup::simple, 1}};
constexpr std::array reporting{ReplacedRules{"reports", std::nullopt}};
constexpr std::string_view no_algorithm = "99";
constexpr std::string_view mark_of_library = "library: ", mark_of_answers = "answers: ";
constexpr std::int64_t largest_probe = 64 << 20;

// A call and the rule that holds for it: numbered over all cells; none for the library's default.
struct ProbeOfRule {
    ProbedCall call;
    std::optional<std::size_t> rule;
};

// Collects calls of a cell: the smallest and largest of each rule, one between them, and those next
// to the rules on as many ranks, one less and one more.
class ProbesOfCell {
public:
    ProbesOfCell(const ExportedCell& cell, std::size_t first_rule, const Export& exported)
        : cell_(cell), rules_(named_rules(cell)), first_rule_(first_rule) {
        const int ranks = cell.job_shape.ranks;
        for (const ExportedRule& rule : rules_) {
            const std::int64_t first = rule.from.count;
            const std::int64_t last = is_open_ended(rule) ? 2 * first + 1024 : rule.end.count - 1;
            for (const std::int64_t size : {first - 1, first, (first + last) / 2, last, last + 1})
                add(ranks, size);
            for (const int others : {ranks - 1, ranks + 1})
                if (others > 1 && !has_cell(exported, others)) add(others, first);
        }
    }

    std::size_t next_rule() const { return first_rule_ + rules_.size(); }
    std::vector<ProbeOfRule> probes;

private:
    bool has_cell(const Export& exported, int ranks) const {
        return std::ranges::any_of(exported.cells, [&](const ExportedCell& other) {
            return other.collective == cell_.collective && other.job_shape.ranks == ranks;
        });
    }

    // MPI libraries return from empty calls at once, and blocks have whole bytes.
    void add(int ranks, std::int64_t size) {
        if (size > largest_probe) return;
        size = std::max<std::int64_t>(size, 1);
        if (has_blocks(cell_.collective)) size = (size + ranks - 1) / ranks * ranks;
        const auto holds = [&](const ExportedRule& rule) {
            return rule.from.count <= size && size < rule.end.count;
        };
        const auto found = std::ranges::find_if(rules_, holds);
        std::optional<std::size_t> number;
        if (ranks == cell_.job_shape.ranks && found != rules_.end())
            number = first_rule_ + static_cast<std::size_t>(found - rules_.begin());
        probes.push_back({{cell_.collective, ranks, {size}}, number});
    }

    const ExportedCell& cell_;
    std::vector<ExportedRule> rules_;
    std::size_t first_rule_;
};

std::vector<ProbeOfRule> probes_of(const Export& exported) {
    std::vector<ProbeOfRule> all;
    std::size_t rule = 0;
    for (const ExportedCell& cell : exported.cells) {
        const ProbesOfCell of_cell(cell, rule, exported);
        all.insert(all.end(), of_cell.probes.begin(), of_cell.probes.end());
        rule = of_cell.next_rule();
    }
    return all;
}

std::vector<ProbedCall> calls_of(const std::vector<ProbeOfRule>& probes) {
    std::vector<ProbedCall> calls;
    for (const ProbeOfRule& probe : probes) calls.push_back(probe.call);
    return calls;
}

// Returns the number of a rule over all cells, in their order.
std::size_t number_of(const Export& exported, const ExportedCell& wanted, Bytes from) {
    std::size_t number = 0;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell)) {
            if (cell.collective == wanted.collective &&
                cell.job_shape.ranks == wanted.job_shape.ranks && rule.from == from)
                return number;
            ++number;
        }
    return number;
}

// Returns the rules, of which some are disabled: for Open MPI by an algorithm that does not exist,
// for UCC by the score 0.
std::string rules_without(const Export& exported, const ReplacedRules& part) {
    const auto is_replaced = [&](const ExportedCell& cell, const ExportedRule& rule) {
        return part.has(cell.collective, number_of(exported, cell, rule.from));
    };
    if (exported.format->library == ForeignLibrary::ucc)
        return write_ucc(exported.cells, is_replaced);
    return write_open_mpi(exported.cells, [&](const ExportedCell& cell, const ExportedRule& rule) {
        return std::string(is_replaced(cell, rule) ? no_algorithm : rule.algorithm->id);
    });
}

// Makes calls with UCC on the first ranks of a world.
class UccProbe {
public:
    explicit UccProbe(World& world) : world_(world) {}

    // Collective.
    ProbeAnswer answer_of(const ProbedCall& probed) {
        if (probed.ranks > world_.size()) return ProbeAnswer::too_few_ranks;
        const auto [known, is_new] = first_ranks_.try_emplace(probed.ranks);
        if (is_new)
            known->second =
                world_.split(world_.rank().index < probed.ranks ? std::optional(0) : std::nullopt);
        if (known->second == nullptr)
            return ProbeAnswer::accepted;  // not in the call: rank 0, which is, reports it
        return answer_on(*known->second, probed);
    }

private:
    // An element is a byte, so that every size is possible.
    ProbeAnswer answer_on(World& ranks, const ProbedCall& probed) {
        const std::int64_t blocks = has_blocks(probed.collective) ? probed.ranks : 1;
        const LibraryCall what{.call = {.collective = probed.collective,
                                        .type = DataType::uint8,
                                        .count = probed.size.count / blocks}};
        if (const auto refusal = ucc_baseline_refuses(ranks, what)) throw Error(*refusal);
        const CollectiveSpec spec(probed.collective, probed.ranks);
        const auto bytes = [&](std::int64_t blocks_of_rank) {
            return as_size(blocks_of_rank) * bytes_of_block(what.call);
        };
        input_.resize(std::max(input_.size(), bytes(spec.input_blocks(ranks.rank()))));
        output_.resize(std::max(output_.size(), bytes(spec.output_blocks(ranks.rank()))));
        calls_.push_back(ucc_baseline(
            ranks, what,
            {.input = std::span(input_).first(bytes(spec.input_blocks(ranks.rank()))),
             .output = std::span(output_).first(bytes(spec.output_blocks(ranks.rank())))}));
        try {
            calls_.back()->start();
        } catch (const Error&) {
            return ProbeAnswer::refused;
        }
        calls_.back()->wait();
        return ProbeAnswer::accepted;
    }

    World& world_;
    std::map<int, std::unique_ptr<World>> first_ranks_;
    std::vector<std::byte> input_, output_;
    std::vector<std::unique_ptr<Operation>> calls_;  // kept, as UCC's teams end with the last one
};

void print_answers(std::string_view library, std::string_view answers) {
    fmt::print("{}{}\n{}{}\n", mark_of_library, library, mark_of_answers, answers);
    std::fflush(stdout);
}

// UCC ignores all rules if one of them names an algorithm that it lacks.
void expect_algorithms_of_ucc(const Export& exported) {
    if (const auto missing = ucc_missing()) throw Error(*missing);
    for (const ExportedCell& cell : exported.cells) {
        const auto names = ucc_algorithms(cell.collective);
        for (const ExportedRule& rule : named_rules(cell))
            if (std::ranges::find(names, rule.algorithm->baseline) == names.end())
                throw Error(fmt::format(
                    "{} has no algorithm '{}' for {}, so it would ignore all rules; use a table "
                    "that was tuned with this UCC",
                    ucc_library(), rule.algorithm->baseline, name_of(cell.collective)));
    }
}

Exit probe_ucc(const std::vector<ProbeOfRule>& probes) {
    return run_ranks({}, [&](World& world) {
        UccProbe probe(world);
        std::string answers;
        for (const ProbeOfRule& each : probes)
            answers += static_cast<char>(probe.answer_of(each.call));
        if (world.is_first()) print_answers(ucc_library(), answers);
        return Exit::ok;
    });
}

// Compares the numbers of algorithms with the names that the running library gives them.
void expect_same_numbers(const Export& exported) {
    for (const ExportedCell& cell : exported.cells) {
        const auto names = mpi_algorithms(cell.collective);
        if (names.empty()) return;  // another library
        for (const ExportedRule& rule : named_rules(cell)) {
            const auto number = static_cast<std::size_t>(*decimal_number(rule.algorithm->id));
            if (number > names.size() || names[number - 1] != rule.algorithm->baseline)
                throw Error(
                    fmt::format("this library's algorithm {} of {} is not {}; use another "
                                "--to",
                                number, name_of(cell.collective), rule.algorithm->baseline));
        }
    }
}

std::string_view text_between(std::string_view text, std::string_view before,
                              std::string_view after) {
    const auto found = text.find(before);
    if (found == text.npos) return "";
    text.remove_prefix(found + before.size());
    return after.empty() ? text : text.substr(0, text.find(after));
}

// Returns what HAN took for a call, as its rules name it, by its verbose output of that call; empty
// if HAN is not on these ranks. HAN looks for a rule on all ranks (level 2), then on parts of them.
std::string choice_of_han(std::string_view report, std::string_view collective) {
    const std::string_view line = text_between(report, "HAN searched ", "\n");
    if (line.empty()) return "";
    const std::string_view rule =
        text_between(report, fmt::format("({}) on topological level 2", collective), "\n");
    std::string choice(text_between(rule, " : component ", ")"));
    if (choice.empty()) choice = "han";
    choice.erase(0, choice.find('(') + 1);
    const std::string_view algorithm = text_between(
        text_between(report, fmt::format("get_algorithm {} ", collective), "\n"), "algorithm:", "");
    const auto space = algorithm.find(' ');
    if (choice == "han" && space != algorithm.npos && algorithm.substr(space) != " default")
        choice += fmt::format(" @{}", algorithm.substr(space + 1));
    return choice;
}

std::string_view next_word(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return text.substr(0, text.find_first_of(" ,)\n"));
}

// Returns the algorithm, fan-out and segment that coll/tuned of Open MPI 6 took by a rule; empty if
// it found none.
std::string choice_of_tuned(std::string_view report, std::string_view collective) {
    const std::string_view rule =
        text_between(report, fmt::format("For {} with msg_size=", collective), "max_requests");
    if (rule.substr(0, rule.find('\n')).find("selected rule") == rule.npos) return "";
    return fmt::format("{} {} {}", next_word(text_between(text_between(rule, " -> ", ""), "(", "")),
                       next_word(text_between(rule, "topo in/out", "")),
                       next_word(text_between(rule, "segsize", "")));
}

// Turns the library's reports into answers: whether each call took what the rules say.
std::string answers_in(const MpiProbe& probe, const std::vector<ProbeOfRule>& probes,
                       const Export& exported) {
    const bool is_of_han = exported.format->library == ForeignLibrary::open_mpi_han;
    std::vector<std::string> wanted;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell))
            wanted.push_back(is_of_han ? std::string(rule.algorithm->id)
                                       : fmt::format("{} {} {}", rule.algorithm->id, rule.fan_out,
                                                     rule.segment.count));
    std::string answers = probe.answers;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (static_cast<ProbeAnswer>(answers[i]) == ProbeAnswer::too_few_ranks) continue;
        const std::string_view collective = name_in(mpi_names, probes[i].call.collective);
        const std::string choice = is_of_han ? choice_of_han(probe.reports[i], collective)
                                             : choice_of_tuned(probe.reports[i], collective);
        const bool is_right =
            probes[i].rule ? choice == wanted[*probes[i].rule] : choice.empty() || choice == "han";
        answers[i] = static_cast<char>(is_right ? ProbeAnswer::accepted : ProbeAnswer::refused);
    }
    return answers;
}

std::string answers_of(const Export& exported, const std::string& launcher, RunPlan plan,
                       std::string_view part) {
    constexpr double most_seconds = 300;
    plan.set("probe", std::string(part));
    Arguments words = plan.arguments();
    words.insert(words.begin(), plan.command);
    Child child(job_command(launcher, this_program(), words));
    const auto code = child.wait(most_seconds);
    if (code != 0)
        throw Error(fmt::format("the ranks of --launcher '{}' failed: {}", launcher,
                                code ? child.last_words() : "no answer within 300 s"),
                    exit_of_child(code.value_or(1), Exit::not_comparable));
    const std::string output = child.output();
    const auto after = [&](std::string_view mark) {
        const auto found = output.find(mark);
        if (found == output.npos) return std::string();
        const auto begin = found + mark.size();
        return output.substr(begin, output.find('\n', begin) - begin);
    };
    const std::string library = after(mark_of_library), answers = after(mark_of_answers);
    const std::string_view wanted = exported.format->running;
    if (!library.starts_with(wanted) || answers.size() != probes_of(exported).size())
        throw Error(fmt::format("--launcher '{}' started {} instead of {}x; use another --to or "
                                "--launcher",
                                launcher, library.empty() ? "no ranks" : library, wanted),
                    Exit::not_comparable);
    return answers;
}

enum class Obedience { obeyed, not_obeyed, unchecked };

// Judges a call by its answers in the launches that show whether it obeys.
Obedience obedience_of(const ProbeOfRule& probe, std::size_t index,
                       std::span<const ReplacedRules> launches,
                       const std::vector<std::string>& answers) {
    const Collective collective = probe.call.collective;
    Obedience found = Obedience::obeyed;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        const auto answer = static_cast<ProbeAnswer>(answers[i][index]);
        if (answer == ProbeAnswer::too_few_ranks) return Obedience::unchecked;
        const bool is_replaced = probe.rule && launches[i].has(collective, *probe.rule);
        if (launches[i].shows(collective) &&
            answer != (is_replaced ? ProbeAnswer::refused : ProbeAnswer::accepted))
            found = Obedience::not_obeyed;
    }
    return found;
}

struct CountedCalls {
    int right = 0, wrong = 0, unchecked = 0;
    void add(Obedience obedience) {
        ++(obedience == Obedience::obeyed       ? right
           : obedience == Obedience::not_obeyed ? wrong
                                                : unchecked);
    }
};

}  // namespace

Exit probe_rules(const Export& exported, const std::string& part) {
    const bool shows_by_report = exported.format->proof == ExportFormat::Proof::reports;
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/rules.conf";
    replace_file(file,
                 shows_by_report ? exported.format->write(exported)
                                 : rules_without(exported, find_row(parts, "part", part)),
                 "the rules");
    for (const auto& [name, value] : environment_of(*exported.format, file))
        setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
    if (shows_by_report)
        for (const char* name : {"OMPI_MCA_coll_base_verbose", "OMPI_MCA_coll_han_verbose",
                                 "OMPI_MCA_coll_tuned_verbose"})
            setenv(name, "80", /*overwrite=*/1);
    const auto probes = probes_of(exported);
    if (exported.format->library == ForeignLibrary::ucc) return probe_ucc(probes);
    probe_mpi(calls_of(probes), [&](MpiProbe probe) {
        if (shows_by_report)
            probe.answers = answers_in(probe, probes, exported);
        else
            expect_same_numbers(exported);
        if (!probe.answers.empty()) print_answers(probe.library, probe.answers);
    });
    return Exit::ok;
}

RulesCheck check_rules(const Export& exported, const std::string& launcher_command, RunPlan plan) {
    const ExportFormat::Proof proof = exported.format->proof;
    if (proof == ExportFormat::Proof::none)
        throw Error("--check works only with --to openmpi4, openmpi5, openmpi6, han or ucc");
    if (exported.format->library == ForeignLibrary::ucc) expect_algorithms_of_ucc(exported);
    if (launcher_command.empty())
        throw Error("--check starts ranks; use for example --launcher 'mpirun -n 4'");
    if (launcher().is_there())
        throw Error(
            "--check starts the ranks itself; run it without a launcher, and use "
            "--launcher");
    constexpr std::string_view own_options[] = {"check", "launcher", "output"};
    plan.erase(own_options);
    end_on_signals();
    const auto probes = probes_of(exported);
    std::span<const ReplacedRules> launches = parts;
    if (proof == ExportFormat::Proof::reports) launches = reporting;
    std::vector<std::string> answers;
    for (const ReplacedRules& part : launches)
        answers.push_back(answers_of(exported, launcher_command, plan, part.name));
    std::map<std::size_t, CountedCalls> by_rule;
    CountedCalls outside, all;
    for (std::size_t i = 0; i < probes.size(); ++i) {
        const Obedience obedience = obedience_of(probes[i], i, launches, answers);
        (probes[i].rule ? by_rule[*probes[i].rule] : outside).add(obedience);
        all.add(obedience);
    }
    RulesCheck check;
    std::size_t number = 0;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell)) {
            const CountedCalls& calls = by_rule[number++];
            check.text +=
                fmt::format("{} on {} ranks from {}: {}: {}\n", name_of(cell.collective),
                            cell.job_shape.ranks, to_string(rule.from), rule.algorithm->baseline,
                            calls.wrong > 0       ? "NOT obeyed"
                            : calls.unchecked > 0 ? "not checked: too few ranks"
                            : calls.right == 0    ? "not checked: its calls are too large"
                                                  : counted(calls.right, "call") + " obeyed it");
        }
    check.text += fmt::format(
        "# calls outside the rules: {} use the library's default, {} do not, {} not checked\n",
        outside.right, outside.wrong, outside.unchecked);
    if (all.right == 0 && all.wrong == 0)
        throw Error("no rule was checked; use a --launcher with more ranks", Exit::not_comparable);
    check.is_obeyed = all.wrong == 0;
    return check;
}

}  // namespace tutti
