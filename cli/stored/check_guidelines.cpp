// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/json_writer.hpp"
#include "base/source.hpp"
#include "cli/options/options.hpp"
#include "results/guidelines/guidelines.hpp"
#include "results/stored/by_launch.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_suspects = 10;  // JSON has all
using Row = std::array<std::string, 6>;
const Row heads{"who", "guideline", "size", "factor", "95 % interval", "a call takes"};

using SettingWords = std::vector<std::pair<std::string, std::string>>;

// Describes the settings of a call by name.
SettingWords words_of(const GuidelineCall& call) {
    const GuidelineSetting& setting = call.setting;
    const auto if_any = [](const std::string& text, const std::string& words) {
        return text.empty() ? text : words;
    };
    SettingWords words{{"nranks", counted(setting.nranks, "rank")},
                       {"ppn", setting.ppn > 0 ? fmt::format("{} a host", setting.ppn) : ""},
                       {"placement", setting.placement},
                       {"dtype", std::string(name_of(setting.dtype))},
                       {"buf", setting.buf + " memory"},
                       {"input", if_any(setting.input, "input " + setting.input)},
                       {"inplace", setting.inplace ? "in place" : "out of place"},
                       {"start", "started by " + setting.start.substr(0, setting.start.find(' '))},
                       {"libraries", setting.libraries},
                       {"machine", "machine " + setting.machine},
                       {"environment", "environment " + setting.environment},
                       {"op", call.op ? std::string(name_of(*call.op)) : ""},
                       {"root", call.root ? fmt::format("root {}", call.root->index) : ""}};
    std::erase_if(words, [](const auto& word) { return word.second.empty(); });
    return words;
}

std::string factor_text(double factor) {
    return factor < 99.995 ? fmt::format("{:.2f}", factor) : fmt::format("{:.3g}", factor);
}

// Everything that the formats show.
class Findings {
public:
    Findings(GuidelineChecks found, double tolerance)
        : found_(std::move(found)), tolerance_(tolerance) {
        judge(found_.checks, tolerance);
        std::map<std::string, std::set<std::string>> values;
        for (const GuidelineCheck& check : found_.checks)
            for (const auto& [name, words] : words_of(check.call)) values[name].insert(words);
        // The settings of all checks are printed once; a line has those that differ.
        for (const GuidelineCheck& check : found_.checks)
            for (const auto& [name, words] : words_of(check.call))
                if (values[name].size() == 1 && is_common_.insert(name).second)
                    common_.emplace_back(name, words);
    }

    Exit code() const {
        if (count("violated") > 0) return Exit::regression;
        return found_.checks.empty() ? Exit::not_comparable : Exit::ok;
    }

    std::string text() const {
        std::string page;
        if (!common_.empty()) page += in_line("guidelines: " + shared()) + "\n";
        if (!found_.checks.empty()) page += rule() + "\n";
        for (const auto& [title, checks] : tables()) {
            std::vector<Row> rows{heads};
            for (const GuidelineCheck* check : checks) rows.push_back(row(*check));
            page += "\n" + title + "\n" + aligned(rows);
        }
        page += "\n";
        for (const std::string& line : conclusion()) page += in_line(line) + "\n";
        return page;
    }

    std::string markdown() const {
        std::string page = "## Performance guidelines\n\n";
        if (!common_.empty()) page += in_cell(in_line(shared())) + ".\n";
        if (!found_.checks.empty()) page += rule() + ".\n";
        for (const auto& [title, checks] : tables()) {
            page += fmt::format("\n{}:\n\n| {} |\n|---|---|---:|---:|---|---|\n", title,
                                fmt::join(heads, " | "));
            for (const GuidelineCheck* check : checks) {
                Row cells = row(*check);
                for (std::string& one : cells) one = in_cell(in_line(one));
                page += fmt::format("| {} |\n", fmt::join(cells, " | "));
            }
        }
        page += "\n";
        for (const std::string& line : conclusion())
            page += "- " + in_cell(in_line(line.substr(line.find_first_not_of(' ')))) + "\n";
        return page;
    }

    std::string json() const {
        Json object{{"v", 1}, {"tolerance", tolerance_}, {"confidence", 0.95}};
        object["checked"] = found_.checks.size();
        for (const char* verdict : verdicts) object[verdict] = count(verdict);
        object["checks"] = Json::array();
        for (const GuidelineCheck& check : found_.checks) object["checks"].push_back(fields(check));
        object["not_checked"] = Json::array();
        for (const auto& [candidate, guideline, reason, missing] : found_.unchecked)
            object["not_checked"].push_back({{"candidate", candidate},
                                             {"guideline", guideline},
                                             {"reason", reason},
                                             {"missing", missing}});
        return object.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
    }

private:
    static constexpr const char* verdicts[] = {"violated", "kept", "undecided"};

    std::int64_t count(std::string_view verdict, const std::string& candidate = {}) const {
        return std::ranges::count_if(found_.checks, [&](const GuidelineCheck& check) {
            return check.verdict == verdict && (candidate.empty() || check.candidate == candidate);
        });
    }

    static Json fields(const GuidelineCheck& check) {
        const auto number = [](double value) {
            return std::isfinite(value) ? Json(std::stod(fmt::format("{:.6g}", value))) : Json();
        };
        const GuidelineCall& call = check.call;
        Json json{{"verdict", check.verdict},
                  {"candidate", check.candidate},
                  {"guideline", check.guideline},
                  {"words", check.words},
                  {"coll", name_of(call.coll)},
                  {"bytes", check.size},
                  {"op", call.op ? name_of(*call.op) : "none"},
                  {"root", call.root ? call.root->index : -1}};
        json.update(encode(call.setting));
        json.update({{"factor", number(check.ratio.value())},
                     {"low", number(check.low)},
                     {"high", number(check.high)},
                     {"p", check.p},
                     {"takes_ns", number(check.takes_ns)},
                     {"would_take_ns", number(check.would_take_ns)},
                     {"gain_ns", number(check.takes_ns - check.would_take_ns)},
                     {"launches", check.launches}});
        return json;
    }

    // The environment is a hash, which says something only if it differs.
    std::string shared() const {
        std::vector<std::string> words;
        for (const auto& [name, value] : common_)
            if (name != "environment") words.push_back(value);
        return fmt::format("{}", fmt::join(words, ", "));
    }

    std::string rule() const {
        return fmt::format(
            "violated: longer by more than {} %, at a level of 5 % for all {} tests together "
            "(Holm); intervals are of 95 % each",
            100 * tolerance_, std::ranges::count_if(found_.checks, &GuidelineCheck::is_comparable));
    }

    Row row(const GuidelineCheck& check) const {
        std::string who = check.candidate;
        for (const auto& [name, words] : words_of(check.call))
            if (!is_common_.contains(name)) who += " " + words;
        return {in_line(who),
                check.words,
                to_string(Bytes{check.size}),
                factor_text(check.ratio.value()),
                factor_text(check.low) + " to " + factor_text(check.high),
                fmt::format("{} instead of {}, {} to gain", time_in_words(check.takes_ns),
                            time_in_words(check.would_take_ns),
                            time_in_words(check.takes_ns - check.would_take_ns))};
    }

    static std::string aligned(const std::vector<Row>& rows) {
        std::array<std::size_t, std::tuple_size_v<Row>> widths{};
        for (const Row& row : rows)
            for (std::size_t i = 0; i < row.size(); ++i)
                widths[i] = std::max(widths[i], row[i].size());
        std::string page;
        for (const Row& row : rows) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i)
                line += i == 2 || i == 3 ? fmt::format("  {:>{}}", row[i], widths[i])
                                         : fmt::format("  {:<{}}", row[i], widths[i]);
            page += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        }
        return page;
    }

    using Table = std::pair<std::string, std::vector<const GuidelineCheck*>>;

    // Returns the violated checks, and those that look so, the clearest first.
    std::vector<Table> tables() const {
        std::vector<Table> both{{"violated", {}}, {"undecided, though it looks violated", {}}};
        for (const GuidelineCheck& check : found_.checks) {
            if (check.verdict == "violated") both[0].second.push_back(&check);
            if (check.verdict == "undecided" && check.ratio.value() > 1 + tolerance_)
                both[1].second.push_back(&check);
        }
        auto& [title, suspects] = both[1];
        std::ranges::stable_sort(suspects, std::greater{}, &GuidelineCheck::low);
        if (suspects.size() > most_suspects) {
            title += fmt::format("; the {} clearest of {}", most_suspects, suspects.size());
            suspects.resize(most_suspects);
        }
        std::erase_if(both, [](const Table& table) { return table.second.empty(); });
        return both;
    }

    std::string summary(const std::string& candidate = {}) const {
        std::int64_t all = 0;
        std::vector<std::string> words;
        for (const char* verdict : verdicts) {
            all += count(verdict, candidate);
            words.push_back(fmt::format("{} {}", count(verdict, candidate), verdict));
        }
        return fmt::format("{} checked: {}", all, fmt::join(words, ", "));
    }

    std::vector<std::string> conclusion() const {
        std::vector<std::string> lines{found_.checks.empty() ? "no guideline could be checked"
                                                             : summary()};
        std::vector<std::string> candidates;
        for (const GuidelineCheck& check : found_.checks)
            if (std::ranges::find(candidates, check.candidate) == candidates.end())
                candidates.push_back(check.candidate);
        if (candidates.size() > 1)
            for (const std::string& candidate : candidates)
                lines.push_back("  " + candidate + ": " + summary(candidate));
        add_cautions(lines);
        add_unchecked(lines);
        return lines;
    }

    void add_cautions(std::vector<std::string>& lines) const {
        const auto& checks = found_.checks;
        const auto apart = std::ranges::count(checks, false, &GuidelineCheck::is_comparable);
        if (apart > 0)
            lines.push_back(fmt::format(
                "{} checks compare different launches, one of each, which differ by more than "
                "intervals within a launch: these never count as violated; measure each "
                "collective with tutti bench --launches 5",
                apart));
        if (std::ranges::any_of(checks, [](const GuidelineCheck& check) {
                return check.verdict != "kept" && check.call.setting.is_by_barrier();
            }))
            lines.emplace_back(
                "started by barrier: a rank that leaves it late may find a rooted call already "
                "done, which then appears too short; use --sync deadline if each rank has an idle "
                "core");
        if (std::ranges::any_of(checks, [](const GuidelineCheck& check) {
                return check.is_comparable && check.launches == 1;
            }))
            lines.emplace_back(
                "checks within a single launch hold only for that launch; use tutti bench "
                "--launches 5 for several");
    }

    // Adds a line for each candidate and reason.
    void add_unchecked(std::vector<std::string>& lines) const {
        struct Group {
            std::string candidate, reason;
            std::set<std::string> missing;
            std::vector<std::string> guidelines;
        };
        std::vector<Group> groups;
        for (const UncheckedGuideline& one : found_.unchecked) {
            const std::string reason = one.missing.empty() ? one.reason : "";
            auto group = std::ranges::find_if(groups, [&](const Group& known) {
                return known.candidate == one.candidate && known.reason == reason;
            });
            if (group == groups.end())
                group = groups.insert(group, Group{one.candidate, reason, {}, {}});
            group->missing.insert(one.missing.begin(), one.missing.end());
            group->guidelines.push_back(one.guideline);
        }
        for (const Group& group : groups)
            lines.push_back(fmt::format(
                "not checked of {}, as {}: {}", group.candidate,
                group.reason.empty()
                    ? fmt::format("there are no points of {}", fmt::join(group.missing, ", "))
                    : group.reason,
                fmt::join(group.guidelines, "; ")));
    }

    GuidelineChecks found_;
    double tolerance_;
    SettingWords common_;
    std::set<std::string> is_common_;
};

// Splits a list at commas; knobs in brackets have commas, too.
std::vector<std::string> names_in(const std::string& list) {
    std::vector<std::string> names(1);
    bool is_in_brackets = false;
    for (const char one : list) {
        if (one == '[' || one == ']') is_in_brackets = one == '[';
        if (one == ',' && !is_in_brackets)
            names.emplace_back();
        else if (one != ' ' || !names.back().empty())
            names.back() += one;
    }
    for (std::string& name : names) name.erase(name.find_last_not_of(' ') + 1);
    std::erase(names, "");
    return names;
}

std::vector<std::string> chosen(const std::vector<std::string>& names,
                                const std::vector<std::string>& known, const char* kind) {
    std::vector<std::string> unique;
    for (const std::string& name : names) {
        const auto some = std::span(known).first(std::min<std::size_t>(known.size(), 12));
        if (std::ranges::find(known, name) == known.end())
            throw Error(printable(
                fmt::format("no {} in these files is called '{}'; {}", kind, name,
                            known.empty() ? "there is none"
                                          : fmt::format("use one of: {}", fmt::join(some, ", ")))));
        if (std::ranges::find(unique, name) == unique.end()) unique.push_back(name);
    }
    return unique;
}

double parse_tolerance(const std::string& typed) {
    const double share = parse_fraction(typed);
    if (share > 1)
        throw Error("--tolerance " + typed + " is not a share from 0 to 100%; use e.g. 5% or 0.05");
    return share;
}

}  // namespace

Exit run_check_guidelines(const Arguments& arguments) {
    std::vector<std::string> files;
    std::string library, candidates, format = "text";
    double tolerance = 0.05;
    CLI::App app{
        "Checks whether a collective is slower than an equivalent combination, such as all_reduce "
        "and reduce_scatter + all_gather. Exit code 1: a guideline is violated; 3: nothing could "
        "be checked.",
        "tutti check-guidelines"};
    app.add_option("files", files, "Results files of 'tutti bench --json'")->required();
    auto* only = app.add_option("--library", library,
                                "Check only this library with its own choice of algorithms "
                                "(default: every library, auto and best)");
    app.add_option("--candidates", candidates,
                   "Check only these candidates of tutti, a list: auto, best (the fastest "
                   "algorithm per size), ring, 'tree (shm)'")
        ->excludes(only);
    app.add_option_function<std::string>(
           "--tolerance", [&](const std::string& typed) { tolerance = parse_tolerance(typed); },
           "Relative excess that is accepted")
        ->default_str("5%");
    app.add_option("--format", format, "Output format: text, json or markdown")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json", "markdown"}));
    if (parse_or_help(app, arguments)) return Exit::ok;

    std::map<std::string, std::string> file_of;
    const Results results = read_runs(files, file_of);
    for (const std::string& warning : results.warnings)
        fmt::print(stderr, "tutti: {}\n", printable(warning));
    const std::string list = fmt::format("'{}'", fmt::join(files, "', '"));
    if (results.points.empty() && results.steps.empty())
        throw Error(list + ": no point in it, so there is nothing to check");
    const std::vector<Point>& points = results.points;
    const std::vector<std::string> names =
        !library.empty() ? chosen({library}, libraries_in(points), "library")
        : !candidates.empty()
            ? chosen(names_in(candidates), own_candidates(points), "candidate of tutti")
            : guideline_candidates(points);
    GuidelineChecks found;
    for (const std::string& name : names) {
        GuidelineTimes times;
        try {
            times = guideline_times(name, results);
        } catch (const Error& error) {
            throw Error(fmt::format("{}: {}", list, error.what()), error.code());
        }
        GuidelineChecks more = check_guidelines(name, times);
        found.checks.insert(found.checks.end(), more.checks.begin(), more.checks.end());
        found.unchecked.insert(found.unchecked.end(), more.unchecked.begin(), more.unchecked.end());
    }
    const Findings findings(std::move(found), tolerance);
    fmt::print("{}", format == "json"       ? findings.json()
                     : format == "markdown" ? findings.markdown()
                                            : findings.text());
    return findings.code();
}

}  // namespace tutti
