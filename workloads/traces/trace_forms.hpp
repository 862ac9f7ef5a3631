// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

/// Counts of elements are limited, so that no sum or product of sizes overflows.
constexpr std::int64_t most_elements = std::int64_t{1} << 40;

/// One object of a file with typed getters, which throw Error naming file and line. Holds
/// references to the value and the source.
class Fields {
public:
    /// Throws Error if `object` is not an object.
    Fields(const JsonValue& object, const Source& source);

    std::string place() const { return fmt::format("{}:{}", source_->name(), object_->line); }
    [[noreturn]] void refuse(const std::string& what) const { source_->fail(object_->line, what); }

    bool has(const char* name) const;  ///< and is not null
    const JsonValue& at(const char* name) const { return path().needed(name).value(); }
    std::string text(const char* name, const std::string& default_value = "") const;
    std::int64_t number(const char* name) const;
    std::int64_t number(const char* name, std::int64_t default_value) const;
    /// Reads a whole number from 0 to most_elements.
    std::int64_t count(const char* name) const;
    void require_count(const char* name, std::int64_t value) const;
    std::vector<std::int64_t> counts(const char* name) const;   ///< empty if absent
    std::vector<std::int64_t> numbers(const char* name) const;  ///< empty if absent
    /// Convert times from microseconds in files to nanoseconds: a point in time, and a duration or
    /// delay.
    std::int64_t ns(const char* name, std::int64_t default_value) const;
    std::int64_t duration_ns(const char* name, std::int64_t default_value = 0) const;
    std::vector<std::int64_t> durations_ns(const char* name) const;
    /// Returns the objects of a list; empty if absent.
    std::vector<Fields> objects(const char* name) const;
    Fields object(const char* name) const { return child(at(name)); }
    /// Returns a value within this object.
    Fields child(const JsonValue& value) const { return {value, *source_}; }

private:
    JsonPlace path() const;

    const JsonValue* object_;
    const Source* source_;
};

/// Returns a text that distinguishes numbers, texts and lists of them.
std::string text_of(const JsonValue& value);

constexpr std::string_view trace_schema = "gradtrace/1";

// Readers for each form of a trace. They throw Error naming file and line.
GradientTrace gradients_of(const Fields& document);
OpsTrace ops_of(const Fields& document);
/// Reads recorded calls of each rank with their launch times on one clock (kind "comms").
OpsTrace comms_of(const Fields& document);

/// Ranks that files may name are limited, so that a damaged number does not fill the memory.
constexpr std::int64_t most_ranks_of_files = 1 << 16;

/// A parsed file of one rank.
struct RankFile {
    Source source;  ///< its name
    JsonValue document;
    int rank = 0;  ///< that of the content, else the place of the file as typed
};
/// Returns the files of a trace as typed for read_trace(), in the order of ranks. If the content
/// names ranks, some may be missing.
std::vector<RankFile> rank_files_in(const std::string& typed);
/// Reads a Chakra trace in protobuf's wire format as {"messages": [{"id", "name", "type", "deps",
/// "duration_micros", "attr"}]}. Throws Error naming the message that is damaged.
JsonValue chakra_messages_in(std::string_view bytes, const Source& source);
/// Reads the same from JSON, as protobuf and Chakra's jsonizer write it: one document after the
/// other, without separators. Returns none for other texts.
std::optional<JsonValue> chakra_messages_in_json(std::string_view text, const Source& source);
bool is_chakra_node(const JsonValue& json);
/// Reads nodes; the first document may be the description of the trace.
JsonValue chakra_messages_of(const JsonValue::List& documents);
/// Returns the bytes of a gzip file. Throws Error if they are damaged.
std::string unzipped(std::string_view bytes, const Source& source);
/// Returns the content of a file without gzip. Throws Error with the cure ("use ...") if it cannot
/// be read.
std::string unzipped_file(const std::filesystem::path& file, std::string_view cure);

/// The times of all ranks in their collectives; see arrival_log.hpp.
struct ArrivalLog;

/// A kind of traces or logs, with a file for each rank or each process.
struct TraceForm {
    std::string_view name;   ///< begins the name of the trace
    std::string_view title;  ///< in messages: "a log of NCCL's inspector"
    bool (*fits)(const JsonValue& document) = nullptr;
    /// Makes a document of a text that is not JSON; none for other texts. Null: the files are JSON.
    std::optional<JsonValue> (*parse)(std::string_view text, const Source& source) = nullptr;
    /// Null: the files have no calls that can be replayed.
    OpsTrace (*import)(const std::vector<RankFile>& files, std::string& note) = nullptr;
    /// Null: the files do not tell which rank others wait for.
    ArrivalLog (*arrivals)(const std::vector<RankFile>& files) = nullptr;
    /// Returns the rank by the content. Null: the files need no order.
    std::optional<std::int64_t> (*rank)(const RankFile& file) = nullptr;
};
/// Returns the kind of a document; null if it is none of the table.
const TraceForm* form_of(const JsonValue& document);
/// Returns the document of a text in a form that is not JSON; none for other texts.
std::optional<JsonValue> document_of_text(std::string_view text, const Source& source);
/// Returns the titles of the kinds that tell which rank others wait for.
std::string titles_of_logs();
/// Returns whether the document is a list whose items have this field.
bool has_item_with(const JsonValue& document, std::string_view field);

/// Reads PARAM's commsTraceReplay: a list of calls and computing. `note` gets what was omitted.
OpsTrace ops_of_param(const std::vector<RankFile>& files, std::string& note);
/// Reads Chakra: the nodes record_param_comms of an execution trace, which has no times.
OpsTrace ops_of_chakra(const std::vector<RankFile>& files, std::string& note);
/// Returns the rank that an execution trace names in calls of all ranks.
std::optional<std::int64_t> rank_in_execution_trace(const RankFile& file);
/// Reads Chakra's own form: collectives, sends, receives and computing with dependencies.
OpsTrace ops_of_messages(const std::vector<RankFile>& files, std::string& note);
/// Reads traces of PyTorch's profiler (Kineto): the calls that record_param_comms describes.
OpsTrace ops_of_profiler(const std::vector<RankFile>& files, std::string& note);
/// Reads dumps of PyTorch's flight recorder.
OpsTrace ops_of_flight_recorder(const std::vector<RankFile>& files, std::string& note);
/// Returns whether it is a line of a log by NCCL's inspector or by libtutti_nccl.so.
bool is_line_of_nccl(const JsonValue& line);
/// Reads such logs: the documents have the lines as "nccl_lines". The lines name the ranks, so the
/// files may be in any order, and one may have several ranks.
OpsTrace ops_of_nccl_log(const std::vector<RankFile>& files, std::string& note);

// Logs in text. A document has what its reader needs, with line numbers of the text.

/// Knows the lines of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,COLL: {"nccl_debug": [...]}.
std::optional<JsonValue> document_of_nccl_debug(std::string_view text, const Source& source);
/// Reads them. Several processes may write to one file.
OpsTrace ops_of_nccl_debug(const std::vector<RankFile>& files, std::string& note);
/// Knows snapshots of ncclras. Those of NCCL 2.28 with missing ranks lack a comma of JSON.
std::optional<JsonValue> document_of_ras(std::string_view text, const Source& source);
/// Knows reports of mpiP: {"mpip": TEXT}.
std::optional<JsonValue> document_of_mpip(std::string_view text, const Source& source);

/// Converts names of recorders: "float32", "c10::BFloat16", "Tensor(long int)". Throws Error naming
/// the known ones.
DataType type_of_trace(std::string_view name);
/// Returns PyTorch's name.
std::string_view trace_name_of(DataType type);
/// Complex numbers are sent as pairs of real ones: returns "float32" and 2 for "ComplexFloat", and
/// other names with 1.
struct ComplexType {
    std::string type;
    std::int64_t parts = 1;
};
ComplexType complex_type_of_trace(std::string_view name);

/// Converts "fwd", "backward", "opt", "data" ...; unknown names count as backward.
Task::Phase phase_of_trace(std::string_view name);
std::string_view trace_name_of(Task::Phase phase);

/// The meaning of an op's name: "allreduce", "_allgather_base", "all_to_allv", "wait" ...
struct OpName {
    TraceOp::Kind kind;
    Collective collective = Collective::all_reduce;
};
/// Throws Error naming the known ones.
OpName op_of_trace(std::string_view name);

}  // namespace tutti
