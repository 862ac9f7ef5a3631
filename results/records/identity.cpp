// SPDX-License-Identifier: Apache-2.0
#include "results/records/identity.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <random>

namespace tutti {
namespace {

std::int64_t unix_milliseconds() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

// RFC 9562: 48 bits of time, the version, 12 random bits, the variant (binary 10), 62 random bits.
std::string new_session_id() {
    std::random_device device;
    const auto random64 = [&] { return std::uint64_t{device()} << 32 | device(); };
    const auto time = static_cast<std::uint64_t>(unix_milliseconds());
    const std::uint64_t high = time << 16 | 0x7000 | (random64() & 0x0fff);
    const std::uint64_t low = (random64() & 0x3fff'ffff'ffff'ffff) | 0x8000'0000'0000'0000;
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                       high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

std::string utc_now() {
    const std::int64_t now = unix_milliseconds();
    const std::time_t seconds = now / 1000;
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                       utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                       now % 1000);
}

}  // namespace tutti
