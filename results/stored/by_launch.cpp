// SPDX-License-Identifier: Apache-2.0
#include "results/stored/by_launch.hpp"

#include <fmt/format.h>

#include <utility>

namespace tutti {
namespace {

// Joins the parts of a run in their order; the last part counts for what several have measured.
template <class Record>
void take_as_one_part(std::vector<Record>& records, const std::string& session) {
    std::map<decltype(Record::key), std::string> last_parts;
    for (const Record& record : records) last_parts[record.key] = record.session;
    std::erase_if(
        records, [&](const Record& record) { return record.session != last_parts.at(record.key); });
    for (Record& record : records) record.session = session;
}

}  // namespace

std::map<std::string, std::string> first_parts(std::span<const Session> sessions) {
    std::map<std::string, std::string> first;
    for (const Session& session : sessions)
        first[session.id] = session.resume_of && first.contains(*session.resume_of)
                                ? first[*session.resume_of]
                                : session.id;
    return first;
}

std::vector<Results> by_launch(const Results& results) {
    auto first = first_parts(results.sessions);
    std::map<std::pair<std::string, int>, std::size_t> places;
    std::vector<Results> launches;
    const auto share_out = [&](auto list) {
        for (const auto& record : results.*list) {
            const std::string& run =
                first.try_emplace(record.session, record.session).first->second;
            const auto [place, is_new] = places.try_emplace({run, record.launch}, launches.size());
            if (is_new) launches.emplace_back();
            (launches[place->second].*list).push_back(record);
        }
    };
    share_out(&Results::launches);
    share_out(&Results::points);
    share_out(&Results::steps);
    share_out(&Results::numerics);
    share_out(&Results::fails);
    share_out(&Results::ends);
    std::map<std::string, Session> last_parts;
    for (const Session& session : results.sessions) last_parts[first[session.id]] = session;
    for (const auto& [id, place] : places) {
        Results& launch = launches[place];
        // Records of several sessions without a session record stay apart.
        const auto last = last_parts.try_emplace(id.first, Session{.id = id.first}).first;
        const Session& session = launch.sessions.emplace_back(last->second);
        launch.launches = {launch.launches.empty() ? Launch{} : launch.launches.back()};
        launch.launches.front().session = session.id;
        take_as_one_part(launch.points, session.id);
        take_as_one_part(launch.steps, session.id);
        take_as_one_part(launch.numerics, session.id);
        const auto is_of_earlier_part = [&](const auto& one) { return one.session != session.id; };
        std::erase_if(launch.fails, is_of_earlier_part);
        std::erase_if(launch.ends, is_of_earlier_part);
    }
    std::erase_if(launches, [](const Results& launch) {
        return launch.points.empty() && launch.steps.empty();
    });
    return launches;
}

Results read_runs(std::span<const std::string> files, std::map<std::string, std::string>& file_of) {
    Results all;
    for (const std::string& file : files) {
        Results results = read_results(std::filesystem::path(file));
        for (const Session& session : results.sessions)
            if (const auto known = file_of.find(session.id); known != file_of.end())
                throw Error(fmt::format("'{}' and '{}' hold the same run; use one of them",
                                        known->second, file));
        for (const Session& session : results.sessions) file_of[session.id] = file;
        append(all, std::move(results));
    }
    return all;
}

}  // namespace tutti
