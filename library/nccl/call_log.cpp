// SPDX-License-Identifier: Apache-2.0
#include "library/nccl/call_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/json_writer.hpp"
#include "base/name_table.hpp"
#include "base/types.hpp"

namespace tutti {
namespace {

constexpr Named<Collective> collectives_of_nccl[] = {
    {Collective::all_reduce, "AllReduce"}, {Collective::reduce_scatter, "ReduceScatter"},
    {Collective::all_gather, "AllGather"}, {Collective::broadcast, "Broadcast"},
    {Collective::reduce, "Reduce"},        {Collective::scatter, "Scatter"},
    {Collective::gather, "Gather"},        {Collective::all_to_all, "AlltoAll"},
};

constexpr Named<DataType> types_of_nccl[] = {
    {DataType::int8, "ncclInt8"},           {DataType::uint8, "ncclUint8"},
    {DataType::int32, "ncclInt32"},         {DataType::uint32, "ncclUint32"},
    {DataType::int64, "ncclInt64"},         {DataType::uint64, "ncclUint64"},
    {DataType::half, "ncclFloat16"},        {DataType::bfloat16, "ncclBfloat16"},
    {DataType::float32, "ncclFloat32"},     {DataType::float64, "ncclFloat64"},
    {DataType::fp8_e4m3, "ncclFloat8e4m3"}, {DataType::fp8_e5m2, "ncclFloat8e5m2"},
};

// "NVLS_TREE" becomes "nvls-tree". Other characters than letters and digits become hyphens, as the
// text goes into JSON unquoted.
std::string in_kebab_case(std::string_view text) {
    std::string name(text);
    for (char& letter : name) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
        const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        if (!is_plain) letter = '-';
    }
    return name;
}

std::string_view text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

template <std::size_t size>
void set_text(char (&field)[size], std::string_view text) {
    const std::size_t length = std::min(size - 1, text.size());
    text.copy(field, length);
    field[length] = '\0';
}

// Returns tutti's name for NCCL's, or NCCL's own in small letters.
template <class Value, std::size_t size>
std::string own_name(const Named<Value> (&names)[size], const char* text) {
    const auto* row = find_in(names, text_or_nothing(text));
    return row == nullptr ? in_kebab_case(text_or_nothing(text)) : std::string(name_of(row->value));
}

// Returns the size column of nccl-tests; 0 if NCCL's type is unknown.
std::uint64_t bytes_of(const ProfiledCall& call, int ranks) {
    const auto* type = find_in(types_of_nccl, text_or_nothing(call.type));
    const auto* collective = find_in(collectives_of_nccl, text_or_nothing(call.collective));
    if (type == nullptr || collective == nullptr) return 0;
    const bool has_blocks = collective->value != Collective::all_reduce &&
                            collective->value != Collective::broadcast &&
                            collective->value != Collective::reduce;
    return call.count * size_of(type->value) * static_cast<std::uint64_t>(has_blocks ? ranks : 1);
}

std::int64_t unix_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

// Never destroyed: NCCL's threads may still report calls while the process ends.
CallLog& call_log() {
    static CallLog& log = *new CallLog;
    return log;
}

bool CallLog::append_to(const std::string& file) {
    constexpr int permissions = 0666;
    auto opened = std::make_unique<OpenFile>(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, permissions));
    if (!*opened) return false;
    const std::lock_guard lock(mutex_);
    if (!file_) file_ = std::move(opened);
    return true;
}

void CallLog::write(const std::string& line) const {
    if (file_ && ::write(file_->number, line.data(), line.size()) < 0) {
        // The disk is full: the program goes on, and its calls stay in memory.
    }
}

void CallLog::add(const ProfiledCommunicator& communicator) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const Json line{{"event", "communicator"},
                    {"communicator", fmt::format("{:016x}", communicator.communicator)},
                    {"rank", communicator.rank},
                    {"ranks", communicator.ranks},
                    {"hosts", communicator.hosts},
                    {"name", communicator.name},
                    {"host", host},
                    {"pid", ::getpid()},
                    {"unix_ns", unix_ns()}};
    const std::lock_guard lock(mutex_);
    write(one_line(line) + "\n");
}

std::uint64_t CallLog::begin(const ProfiledCommunicator& communicator, const ProfiledCall& call) {
    tutti_nccl_call known{};
    known.communicator = communicator.communicator;
    known.sequence = call.sequence;
    known.count = call.count;
    known.rank = communicator.rank;
    known.ranks = communicator.ranks;
    known.channels = call.channels;
    set_text(known.collective, own_name(collectives_of_nccl, call.collective));
    set_text(known.type, own_name(types_of_nccl, call.type));
    set_text(known.algorithm, in_kebab_case(text_or_nothing(call.algorithm)));
    set_text(known.protocol, in_kebab_case(text_or_nothing(call.protocol)));
    const std::lock_guard lock(mutex_);
    known.id = ++last_;
    KeptCall& kept_call = calls_[known.id % kept];
    kept_call.call = known;
    kept_call.channels.clear();
    if (file_)
        write(fmt::format(
            R"({{"event":"call","communicator":"{:016x}","rank":{},"id":{},"sequence":{},)"
            R"("collective":"{}","type":"{}","count":{},"bytes":{},"algorithm":"{}",)"
            R"("protocol":"{}","channels":{},"unix_ns":{}}})"
            "\n",
            known.communicator, known.rank, known.id, known.sequence, known.collective, known.type,
            known.count, bytes_of(call, communicator.ranks), known.algorithm, known.protocol,
            known.channels, unix_ns()));
    return known.id;
}

CallLog::KeptCall* CallLog::find(std::uint64_t id) {
    KeptCall& call = calls_[id % kept];
    return id != 0 && call.call.id == id ? &call : nullptr;
}

void CallLog::channel_started(std::uint64_t id, int channel, std::uint64_t gpu_time) {
    const std::lock_guard lock(mutex_);
    KeptCall* const call = find(id);
    if (call == nullptr) return;
    call->channels.push_back({.channel = channel, .start = gpu_time});
    if (call->call.gpu_start == 0 || gpu_time < call->call.gpu_start)
        call->call.gpu_start = gpu_time;
}

void CallLog::channel_ended(std::uint64_t id, int channel, std::uint64_t gpu_time) {
    const std::lock_guard lock(mutex_);
    KeptCall* const call = find(id);
    if (call == nullptr) return;
    const auto time = std::ranges::find_if(call->channels, [&](const ChannelTime& one) {
        return one.channel == channel && one.end == 0;
    });
    if (time == call->channels.end()) return;
    time->end = gpu_time;
    if (++call->call.ended_channels != call->call.channels) return;
    std::uint64_t last = 0;
    for (const ChannelTime& one : call->channels) last = std::max(last, one.end);
    call->call.gpu_ns = last - call->call.gpu_start;
    if (!file_) return;
    std::ranges::sort(call->channels, {}, &ChannelTime::channel);
    std::string times;
    for (const ChannelTime& one : call->channels)
        times += fmt::format("{}{}", times.empty() ? "" : ",", one.end - one.start);
    write(fmt::format(R"({{"event":"done","communicator":"{:016x}","rank":{},"id":{},)"
                      R"("gpu_start":{},"gpu_ns":{},"channel_ns":[{}]}})"
                      "\n",
                      call->call.communicator, call->call.rank, id, call->call.gpu_start,
                      call->call.gpu_ns, times));
}

std::uint64_t CallLog::last() const {
    const std::lock_guard lock(mutex_);
    return last_;
}

std::size_t CallLog::copy(std::uint64_t after, std::span<tutti_nccl_call> calls) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t oldest = last_ < kept ? 1 : last_ - kept + 1;
    std::size_t copied = 0;
    for (std::uint64_t id = std::max(after + 1, oldest); id <= last_ && copied < calls.size(); ++id)
        calls[copied++] = calls_[id % kept].call;
    return copied;
}

}  // namespace tutti

#pragma GCC visibility push(default)
extern "C" {
uint64_t tutti_nccl_last_call(void) { return tutti::call_log().last(); }
size_t tutti_nccl_calls(uint64_t after, struct tutti_nccl_call* calls, size_t most) {
    return tutti::call_log().copy(after, {calls, most});
}
}
#pragma GCC visibility pop
