// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "autotune/model/loggp_parameters.hpp"

namespace tutti {

/// A time that remembers what it is made of: so much of each term of two tariffs (inside a host,
/// across hosts). Calculates like the number that stands for it in a mere prediction.
struct Itemized {
    double ns = 0;
    std::array<double, 2 * LogGpParameters::terms> amount{};

    Itemized& operator+=(const Itemized& other) {
        ns += other.ns;
        for (std::size_t i = 0; i < amount.size(); ++i) amount[i] += other.amount[i];
        return *this;
    }
    friend Itemized operator+(Itemized a, const Itemized& b) { return a += b; }
    friend Itemized operator*(Itemized a, double times) {
        a.ns *= times;
        for (double& one : a.amount) one *= times;
        return a;
    }
    friend bool operator<(const Itemized& a, const Itemized& b) { return a.ns < b.ns; }
};

inline void charge(double& time, std::size_t, double amount, double ns) { time += amount * ns; }
inline void charge(Itemized& time, std::size_t term, double amount, double ns) {
    time.ns += amount * ns;
    time.amount[term] += amount;
}

/// A tariff for one call: what depends on the bytes that a rank touches is settled. Time is double
/// or Itemized.
template <class Time>
class CallCosts {
public:
    /// `first_term`: what Itemized calls the tariff's term 0.
    CallCosts(const LogGpParameters& tariff, double footprint, std::size_t first_term)
        : tariff_(tariff), first_term_(first_term) {
        const CurvePlace place =
            place_on(footprint_points.data(), footprint_points.size(), footprint);
        for (std::size_t kind = 0; kind < per_byte_kinds; ++kind)
            per_byte_[kind] =
                on_curve(LogGpParameters::begin_of(static_cast<PerByte>(kind)), place);
        call = term(LogGpParameters::call);
        step = term(LogGpParameters::step);
        turn = term(LogGpParameters::turn);
        link = term(LogGpParameters::link);
    }

    Time call{}, step{}, turn{}, link{};

    const Time& per_byte(PerByte kind) const { return per_byte_[static_cast<std::size_t>(kind)]; }

    /// What a message costs either end, without its bytes. Most messages of a step are alike, so
    /// the last answer is kept.
    const Time& message(double size) {
        if (size == last_size_) return last_message_;
        last_size_ = size;
        return last_message_ =
                   on_curve(LogGpParameters::message,
                            place_on(message_points.data(), message_points.size(), size));
    }

private:
    Time term(std::size_t number) const {
        Time time{};
        charge(time, first_term_ + number, 1, tariff_.ns[number]);
        return time;
    }
    Time on_curve(std::size_t begin, CurvePlace place) const {
        return term(begin + place.first) * (1 - place.share_of_next) +
               term(begin + place.first + 1) * place.share_of_next;
    }

    const LogGpParameters& tariff_;
    std::size_t first_term_;
    std::array<Time, per_byte_kinds> per_byte_{};
    double last_size_ = -1;
    Time last_message_{};
};

}  // namespace tutti
