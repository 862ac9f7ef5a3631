// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/encoding.hpp"
#include "base/index.hpp"
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr const char* forms_read =
    "known formats are gradtrace/1 as scripts/record_ddp writes it (JSON or JSON Lines), and "
    "traces "
    "of PARAM, PyTorch (execution trace, profiler, flight recorder), Chakra and NCCL (inspector, "
    "libtutti_nccl, NCCL_DEBUG), a file for each rank";

// Files of a folder that are read. Outputs of jobs may be logs, and mpiP's reports are texts, too.
constexpr std::string_view endings_of_traces[] = {".json", ".json.gz", ".et", ".et.gz"};
constexpr std::string_view endings_of_outputs[] = {".log", ".txt", ".out", ".mpiP"};

bool ends_with_one_of(const std::string& name, std::span<const std::string_view> endings) {
    return std::ranges::any_of(endings,
                               [&](std::string_view ending) { return name.ends_with(ending); });
}

// Returns the numbers in a name, in order; one after "rank" comes last.
std::vector<std::int64_t> numbers_in_name(const fs::path& file) {
    const std::string name = file.filename().string();
    std::vector<std::int64_t> numbers;
    std::optional<std::int64_t> after_rank;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (!is_digit(name[at])) continue;
        std::size_t end = at;
        while (end < name.size() && is_digit(name[end])) ++end;
        const std::string_view before = std::string_view(name).substr(0, at);
        const auto number = decimal_number(std::string_view(name).substr(at, end - at));
        at = end;
        if (!number) continue;
        numbers.push_back(*number);
        const std::size_t word = before.find_last_not_of("_-=.");
        if (word != before.npos && before.substr(0, word + 1).ends_with("rank"))
            after_rank = *number;
    }
    if (after_rank) numbers.push_back(*after_rank);
    return numbers;
}

constexpr std::size_t characters_of_first_name = 20;

bool begins_as_log_of_nccl(std::string_view text) {
    const std::string_view begin = text.substr(0, characters_of_first_name);
    return begin.find("\"header\"") != begin.npos || begin.find("\"event\"") != begin.npos;
}

// Reads only the first characters, as the output of a job may have gigabytes.
bool is_log_of_nccl(const fs::path& file) {
    std::string begin(64, '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    return begins_as_log_of_nccl(in_utf8(begin));
}

// Folders often also hold the output of the job, which may or may not be a log, and notes.
bool is_output(const fs::path& file) {
    return ends_with_one_of(file.filename().string(), endings_of_outputs);
}

bool is_of_folder(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return entry.is_regular_file() && !name.starts_with('.') &&  // such as "._0.json" of macOS
           (ends_with_one_of(name, endings_of_traces) ||
            ends_with_one_of(name, endings_of_outputs));
}

bool is_binary_chakra(const fs::path& file, std::string_view text) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".et") && !name.ends_with(".et.gz")) return false;
    const std::size_t begin = text.find_first_not_of(" \t\r\n{[");
    const bool is_json =
        begin != text.npos && begin > 0 && (text[begin] == '"' || text[begin] == '}');
    return !is_json;  // a length may be the code of '{' or a blank
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (is_of_folder(entry)) files.push_back(entry.path());
    std::ranges::sort(files);
    if (files.empty())
        throw Error(fmt::format(
            "{}: a folder without traces or logs, which end with {}, {}; pass other files, "
            "such as *.jsonl, by name",
            folder.string(), fmt::join(endings_of_traces, ", "),
            fmt::join(endings_of_outputs, ", ")));
    return files;
}

std::vector<fs::path> files_of(const std::string& typed) {
    if (typed.empty())
        throw Error("no trace given; use --file TRACE.jsonl, which scripts/record_ddp writes");
    if (fs::exists(typed)) return {typed};
    std::vector<fs::path> files;
    for (std::size_t at = 0; at <= typed.size();) {
        const std::size_t end = std::min(typed.find(',', at), typed.size());
        files.emplace_back(typed.substr(at, end - at));
        at = end + 1;
    }
    return files;
}

// The list of the document that receives the lines of each name.
const std::map<std::string, const char*> list_of = {
    {"parameter", "params"}, {"bucket", "buckets"},       {"buffer", "buffers_broadcast"},
    {"group", "groups"},     {"iteration", "iterations"}, {"op", "ops"},
};

// Returns a field of the object, as an empty list if there was none.
JsonValue& field_of(JsonValue& object, std::string_view name) {
    auto& fields = std::get<JsonValue::Object>(object.value);
    for (JsonField& field : fields)
        if (field.name == name) return field.value;
    return fields.emplace_back(JsonField{std::string(name), {object.line, JsonValue::List{}}})
        .value;
}

// Joins a trace of JSON Lines to the one document that it was cut from. Throws Error for an invalid
// line, and if the end line is missing.
JsonValue joined_lines(std::string_view text, const Source& source) {
    constexpr const char* cut_off = "cut off: no end line follows; record or copy the trace again";
    const auto parsed = [&](std::string_view line, int number) {
        try {
            return parse_json(line, source, number);
        } catch (const NotJson&) {
            if (text.empty()) source.fail(number, cut_off);  // torn in the last line
            throw;
        }
    };
    JsonValue document;
    int number = 0;
    bool is_over = false;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        JsonValue json = parsed(line, number);
        if (number == 1) {
            document = std::move(json);
            continue;
        }
        const Fields fields(json, source);
        const std::string name = fields.text("line");
        if (is_over) fields.refuse("nothing follows the end line");
        if (name == "end") {
            if (fields.number("lines") != number)
                fields.refuse(fmt::format("lines are missing: this is line {} of {}", number,
                                          fields.number("lines")));
            is_over = true;
            continue;
        }
        const auto list = list_of.find(name);
        if (list == list_of.end())
            fields.refuse(
                fmt::format("'line' is '{}', which is none of parameter, bucket, buffer, "
                            "group, iteration, op, end",
                            name));
        JsonValue& items = field_of(document, list->second);
        if (!items.list()) fields.refuse("the first line does not allow such a line");
        std::get<JsonValue::List>(items.value).push_back(std::move(json));
    }
    if (!is_over) source.fail(number, cut_off);
    return document;
}

bool is_in_lines(std::string_view text, const Source& source) {
    try {
        const JsonValue head = parse_json(text.substr(0, text.find('\n')), source, 1);
        const JsonValue* form = head.find("form");
        return form && form->text() && *form->text() == "lines";
    } catch (const Error&) {
        return false;  // the document continues in the next line
    }
}

// Returns the lines of a log of NCCL; none if it is none. The last line may be torn, as the job may
// have crashed or still run.
std::optional<JsonValue> lines_of_nccl(std::string_view text, const Source& source) {
    if (!begins_as_log_of_nccl(text)) return std::nullopt;
    JsonValue::List lines;
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        try {
            JsonValue json = parse_json(line, source, number);
            if (lines.empty() && !is_line_of_nccl(json)) return std::nullopt;
            lines.push_back(std::move(json));
        } catch (const NotJson&) {
            if (lines.empty()) return std::nullopt;
            if (!text.empty()) throw;
        }
    }
    return JsonValue{1, JsonValue::Object{{"nccl_lines", {1, std::move(lines)}}}};
}

// Names formats that hold no calls to replay, and what to do instead.
const char* advice_for(std::string_view text) {
    if (text.starts_with("SQLite format 3"))
        return "an SQLite database; Nsight Systems records no sizes of calls, so use a trace of "
               "PyTorch's profiler";
    if (text.starts_with("\x80"))
        return "a pickle; write it as JSON: python3 -c \"import json, pickle, sys; "
               "json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)\" FILE > 0.json";
    constexpr std::size_t place_of_tar = 257;
    if (text.size() > place_of_tar && text.substr(place_of_tar).starts_with("ustar"))
        return "an archive, such as Score-P's profile.cubex; its texts (scorep-score -r) have no "
               "times of single ranks, so use a report of mpiP";
    return nullptr;
}

// Counts the kernels of collectives in a table of Nsight Systems, which has no sizes.
void refuse_table_of_kernels(std::string_view text, const fs::path& file) {
    const std::string_view head = text.substr(0, text.find('\n'));
    if (head.find("Duration") == head.npos || head.find("Name") == head.npos) return;
    int kernels = 0;
    for (const std::string_view line : split(text, '\n'))
        kernels += line.find("ncclDevKernel") != line.npos || line.find("ncclKernel") != line.npos;
    throw Error(
        fmt::format("{}: a table of Nsight Systems with {} kernels of collectives, but "
                    "without their sizes; use a trace of PyTorch's profiler",
                    file.string(), kernels));
}

bool is_json(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin != text.npos && (text[begin] == '{' || text[begin] == '[');
}

JsonValue document_of_json(std::string_view text, const Source& source) {
    if (is_in_lines(text, source)) return joined_lines(text, source);
    if (auto lines = lines_of_nccl(text, source)) return std::move(*lines);
    JsonValue document;
    try {
        document = parse_json(text, source, 1);
    } catch (const NotJson&) {
        if (auto nodes = chakra_messages_in_json(text, source)) return std::move(*nodes);
        throw;
    }
    if (has_item_with(document, "ph"))  // events of the profiler without what surrounds them
        return {1, JsonValue::Object{{"traceEvents", std::move(document)}}};
    const JsonValue* const nodes = document.list() ? &document : document.find("nodes");
    if (nodes && nodes->list() && std::ranges::any_of(*nodes->list(), is_chakra_node))
        return chakra_messages_of(*nodes->list());
    return document;
}

// Returns none for a file of another kind, which a folder may hold. Throws Error if it is damaged.
std::optional<JsonValue> document_of(const fs::path& file, const Source& source) {
    std::string text = unzipped_file(file, "use --file TRACE.jsonl");
    if (is_binary_chakra(file, text)) return chakra_messages_in(text, source);
    text = in_utf8(text);
    if (auto document = document_of_text(text, source)) return document;
    if (is_json(text)) return document_of_json(text, source);
    if (text.empty()) throw Error(fmt::format("{}: empty; record or copy it again", file.string()));
    return std::nullopt;
}

// Returns none for an output or a note that is no log.
std::optional<JsonValue> document_of_output(const fs::path& file, const Source& source) {
    const std::string text = in_utf8(unzipped_file(file, "use --file TRACE.jsonl"));
    if (auto lines = lines_of_nccl(text, source)) return lines;
    return document_of_text(text, source);
}

[[noreturn]] void refuse_foreign(const fs::path& file) {
    const std::string text = unzipped_file(file, "use --file TRACE.jsonl");
    if (const char* advice = advice_for(text))
        throw Error(fmt::format("{}: {}", file.string(), advice));
    refuse_table_of_kernels(text, file);
    throw Error(fmt::format("{}: not a trace: {}", file.string(), forms_read));
}

void read_origin(const Fields& document, Trace& trace) {
    const auto text = [&](const char* name) { return printable(document.text(name)); };
    trace.model = text("model");
    if (trace.model.empty()) document.refuse("'model' is missing");
    trace.source = text(document.has("source") ? "source" : "data");
    trace.licence = text("licence");
    trace.device = text("device");
    trace.framework = text("framework");
    trace.note = text("note");
    trace.world = static_cast<int>(document.number("world", 0));
}

Trace ours(const RankFile& file) {
    const Fields document(file.document, file.source);
    if (document.text("schema") != trace_schema)
        document.refuse(
            fmt::format("not a trace: 'schema' is not {}; {}", trace_schema, forms_read));
    Trace trace;
    read_origin(document, trace);
    const std::string kind = document.text("kind", "gradients");
    if (kind == "gradients")
        trace.what = gradients_of(document);
    else if (kind == "ops")
        trace.what = ops_of(document);
    else if (kind == "comms")
        trace.what = comms_of(document);
    else
        document.refuse(fmt::format("kind '{}' is not one of gradients, ops", kind));
    return trace;
}

Trace imported(std::string name, const std::vector<RankFile>& files,
               OpsTrace (*import)(const std::vector<RankFile>&, std::string&)) {
    Trace trace;
    trace.model = std::move(name);
    trace.what = import(files, trace.note);
    const auto& ranks = std::get<OpsTrace>(trace.what).ranks;
    if (std::ranges::all_of(ranks, [](const auto& rank) { return rank.empty(); }))
        throw Error(fmt::format("{}: the trace has no calls{}", files.front().source.name(),
                                trace.note.empty() ? "" : "; " + trace.note));
    trace.world = int_size(ranks);
    return trace;
}

// Returns the ranks that all files name in their content; empty if one does not, or two are alike.
std::vector<std::int64_t> ranks_in_content(const std::vector<RankFile>& files,
                                           const TraceForm& form) {
    std::vector<std::int64_t> ranks;
    for (const RankFile& file : files) {
        const auto rank = form.rank(file);
        if (!rank || *rank < 0) return {};
        if (*rank >= most_ranks_of_files)
            throw Error(fmt::format("{}: rank {} is impossible; at most {} ranks are read",
                                    file.source.name(), *rank, most_ranks_of_files));
        ranks.push_back(*rank);
    }
    const std::set<std::int64_t> different(ranks.begin(), ranks.end());
    return different.size() == files.size() ? ranks : std::vector<std::int64_t>{};
}

// Returns the numbers in the names of the files that may be ranks, the most likely ones first.
std::vector<std::vector<std::int64_t>> ranks_in_names(const std::vector<RankFile>& files) {
    std::vector<std::vector<std::int64_t>> choices;
    for (std::size_t from_end = 1;; ++from_end) {
        std::vector<std::int64_t> ranks;
        for (const RankFile& file : files) {
            const auto numbers = numbers_in_name(file.source.name());
            if (numbers.size() < from_end) return choices;
            ranks.push_back(numbers[numbers.size() - from_end]);
        }
        choices.push_back(std::move(ranks));
    }
}

void sort_by_rank(std::vector<RankFile>& files, const std::vector<std::int64_t>& ranks) {
    for (std::size_t file = 0; file < files.size(); ++file)
        files[file].rank = static_cast<int>(ranks[file]);
    std::ranges::sort(files, {}, &RankFile::rank);
}

std::size_t first_missing(const std::vector<std::int64_t>& ranks) {
    std::size_t rank = 0;
    while (std::ranges::find(ranks, static_cast<std::int64_t>(rank)) != ranks.end()) ++rank;
    return rank;
}

// Sorts the files of a folder by a number in their names.
void sort_by_name(std::vector<RankFile>& files, const std::string& folder) {
    const auto choices = ranks_in_names(files);
    for (const auto& ranks : choices)
        if (first_missing(ranks) == files.size()) return sort_by_rank(files, ranks);
    throw Error(
        fmt::format("{}: rank {} is missing or appears twice in {} files; use one file for each "
                    "rank, named 0.json, 1.json, ... or *rank0.json, ...",
                    folder, choices.empty() ? 0 : first_missing(choices.front()), files.size()));
}

// A replay has all ranks. A single file is replayed on all of them.
void require_all_ranks(const std::vector<RankFile>& files) {
    for (std::size_t rank = 0; rank < files.size() && files.size() > 1; ++rank)
        if (files[rank].rank != static_cast<int>(rank))
            throw Error(
                fmt::format("{}: is of rank {}, but rank {} is missing in {} files; use "
                            "one file for each rank",
                            files[rank].source.name(), files[rank].rank, rank, files.size()));
}

// The files of a trace.
struct Inputs {
    std::vector<RankFile> ranks;
    std::optional<JsonValue> groups;  // process groups that a file next to a Chakra trace lists
    int foreign = 0;
};

// Knows {"1": [0, 1], "2": [2, 3]}.
bool are_process_groups(const JsonValue& document) {
    const auto has_ranks = [](const JsonField& group) {
        return group.value.list() && !group.value.list()->empty() &&
               std::ranges::all_of(*group.value.list(), &JsonValue::whole_number);
    };
    return document.object() && !document.object()->empty() &&
           std::ranges::all_of(*document.object(), has_ranks);
}

bool is_ours(const JsonValue& document) {
    const JsonValue* const schema = document.find("schema");
    return schema && schema->text() && *schema->text() == trace_schema;
}

Inputs inputs_in_folder(const std::string& folder) {
    Inputs inputs;
    std::vector<fs::path> outputs;
    int notes = 0;
    for (const fs::path& path : files_in(folder)) {
        if (is_output(path) && !is_log_of_nccl(path)) {
            outputs.push_back(path);
            continue;
        }
        const Source source("", path.string());
        auto document =
            is_output(path) ? document_of_output(path, source) : document_of(path, source);
        const bool is_trace = document && (form_of(*document) || is_ours(*document));
        if (is_trace)
            inputs.ranks.push_back({source, std::move(*document)});
        else if (document && are_process_groups(*document))
            inputs.groups = std::move(document);
        else
            ++inputs.foreign;
    }
    // A job's output may be a log, too. Next to traces it does not count: it is large, and
    // processes may have torn the lines of others.
    for (const fs::path& path : inputs.ranks.empty() ? outputs : std::vector<fs::path>{}) {
        const Source source("", path.string());
        auto document = document_of_output(path, source);
        if (document && form_of(*document) != nullptr)
            inputs.ranks.push_back({source, std::move(*document)});
        else
            ++notes;
    }
    if (inputs.ranks.empty())
        throw Error(fmt::format("{}: no trace in {} files: {}", folder, inputs.foreign + notes,
                                forms_read));
    const TraceForm* const form = form_of(inputs.ranks.front().document);
    for (const RankFile& file : inputs.ranks)
        if (form_of(file.document) != form)
            throw Error(
                fmt::format("{}: holds traces of another kind than {}; use a folder for each kind",
                            file.source.name(), inputs.ranks.front().source.name()));
    return inputs;
}

Inputs inputs_in_list(const std::string& typed) {
    Inputs inputs;
    for (const fs::path& file : files_of(typed)) {
        const Source source("", file.string());
        auto document = document_of(file, source);
        if (!document) refuse_foreign(file);
        if (!inputs.ranks.empty() && are_process_groups(*document))
            inputs.groups = std::move(document);
        else
            inputs.ranks.push_back({source, std::move(*document)});
    }
    return inputs;
}

// Returns the form of all files; null if they differ or have none.
const TraceForm* form_of_all(const std::vector<RankFile>& files) {
    const TraceForm* const form = form_of(files.front().document);
    const bool are_alike = std::ranges::all_of(
        files, [&](const RankFile& file) { return form_of(file.document) == form; });
    return are_alike ? form : nullptr;
}

// The content of files tells their ranks. If it does not, they are in the order of ranks.
Inputs inputs_in(const std::string& typed) {
    const bool is_folder = fs::is_directory(typed);
    Inputs inputs = is_folder ? inputs_in_folder(typed) : inputs_in_list(typed);
    std::vector<RankFile>& files = inputs.ranks;
    for (std::size_t file = 0; file < files.size(); ++file)
        files[file].rank = static_cast<int>(file);
    const TraceForm* const form = form_of_all(files);
    if (form == nullptr || form->rank == nullptr) return inputs;
    if (const auto ranks = ranks_in_content(files, *form); !ranks.empty())
        sort_by_rank(files, ranks);
    else if (is_folder && files.size() > 1)
        sort_by_name(files, typed);
    return inputs;
}

}  // namespace

std::vector<RankFile> rank_files_in(const std::string& typed) { return inputs_in(typed).ranks; }

Trace read_trace(const std::string& typed) {
    Inputs inputs = inputs_in(typed);
    std::vector<RankFile>& files = inputs.ranks;
    if (const TraceForm* const form = form_of_all(files)) {
        if (form->import == nullptr)
            throw Error(
                fmt::format("{}: {}, which has no calls to replay; use tutti show "
                            "--stragglers",
                            files.front().source.name(), form->title));
        require_all_ranks(files);
        if (inputs.groups) field_of(files.front().document, "comm_groups") = *inputs.groups;
        const std::string name = fs::path(files.front().source.name()).stem().string();
        Trace trace = imported(fmt::format("{}-{}", form->name, name), files, form->import);
        if (inputs.foreign > 0)
            add_note(trace.note,
                     fmt::format("left out: {} files that are not traces", inputs.foreign));
        return trace;
    }
    if (files.size() > 1)
        throw Error(
            fmt::format("{}: only traces of PARAM, PyTorch and Chakra have a file for each "
                        "rank, all of one kind; use --file with one file",
                        files[1].source.name()));
    return ours(files.front());
}

}  // namespace tutti
