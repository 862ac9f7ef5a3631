// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/turn_message.hpp"

#include "base/json_reader.hpp"
#include "base/json_writer.hpp"

namespace tutti {

static void walk(auto& f, Is<TurnMessage> auto& message) {
    f.must("news", message.news);
    f.may("key", message.key);
    f.may("renews", message.renews);
    f.may("may_use_barriers", message.may_use_barriers);
    f.may("sends_midmeans", message.sends_midmeans);
    f.may("trial", message.trial);
    f.may("call", message.call);
    f.may("candidate", message.candidate);
    f.may("place", message.place);
    f.may("reason", message.reason);
    f.may("ns", message.ns);
    f.may("midmean_ns", message.midmean_ns);
    f.may("ends_ns", message.ends_ns);
    f.may("n_wrong", message.n_wrong);
}

std::string to_line(const TurnMessage& message) { return one_line(encode(message)); }

TurnMessage turn_message_of(std::string_view line) {
    const Source source("", "message of a job");
    const JsonRules rules{.whole = "the message"};
    const JsonValue json = parse_json(line, source, 1);
    TurnMessage message;
    decode(JsonPlace(json, source, rules), message);
    return message;
}

}  // namespace tutti
