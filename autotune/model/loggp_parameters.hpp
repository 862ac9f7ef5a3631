// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>

#include "base/index.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Kinds of work with a cost per byte. `send`: the data leaves the sender (into a library's buffer,
/// or to where peers can read it); `copy` and `reduce`: the receiver handles what arrives; `add`:
/// further data is added to the same sum in the same pass; `write`: a result just computed is
/// stored once more, into a peer's result; `own`: a rank copies from its own input to its own
/// output; `pack`: either end copies to or from a message whose parts lie in several places.
enum class PerByte { send, copy, reduce, add, write, own, pack };
inline constexpr std::size_t per_byte_kinds = 7;

/// Points of curves over the size of a message, which decides how a message travels (in the line of
/// a flag, at once, or only when the receiver is ready).
inline constexpr std::array<double, 9> message_points{64,   256,   1024,   2048,   4096,
                                                      8192, 32768, 131072, 1048576};
/// Points of curves over the bytes that a rank touches in the call, which decide the cache that the
/// bytes come from.
inline constexpr std::array<double, 5> footprint_points{16384, 131072, 1048576, 4194304, 16777216};

/// A place on a curve: its value is the weighted mean of point `first` and the next.
struct CurvePlace {
    std::size_t first = 0;
    double share_of_next = 0;
};

/// Interpolates in the logarithm of the size; constant before the first and after the last point.
CurvePlace place_on(const double* points, std::size_t count, double size);

/// Costs over one transport, with one kind of memory, within a host or across hosts: the parameters
/// of the model, in ns or ns per byte, as one list that can be fitted. See
/// docs/background/limits.md.
struct LogGpParameters {
    static constexpr std::size_t call = 0;            ///< once in each call
    static constexpr std::size_t step = 1;            ///< until a peer's step is seen: the latency
    static constexpr std::size_t context_switch = 2;  ///< on a core that several ranks share
    static constexpr std::size_t link = 3;            ///< per byte that leaves or enters a host
    static constexpr std::size_t message = 4;         ///< each, at either end: a curve
    static constexpr std::size_t bytes = message + message_points.size();  ///< curves
    static constexpr std::size_t terms = bytes + per_byte_kinds * footprint_points.size();

    static constexpr std::size_t begin_of(PerByte kind) {
        return bytes + static_cast<std::size_t>(kind) * footprint_points.size();
    }

    std::array<double, terms> ns{};
    bool operator==(const LogGpParameters&) const = default;

    /// Returns textbook LogGP: latency `step`, overhead `message` at either end, `copy` and
    /// `reduce` (for any number at once) per byte that arrives, and nothing else.
    static LogGpParameters uniform(double step, double message, double copy, double reduce);
};

/// A time that records its items: how much of each term of two sets of parameters (within a host,
/// across hosts). Supports the same arithmetic as the number of a prediction.
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

/// The parameters for one call, with curves over the touched bytes already evaluated. Time is
/// double or Itemized.
template <class Time>
class CallCosts {
public:
    /// `first_term`: the index of the parameters' term 0 in Itemized.
    CallCosts(const LogGpParameters& parameters, double footprint, std::size_t first_term)
        : parameters_(parameters), first_term_(first_term) {
        const CurvePlace place =
            place_on(footprint_points.data(), footprint_points.size(), footprint);
        for (std::size_t kind = 0; kind < per_byte_kinds; ++kind)
            per_byte_[kind] =
                on_curve(LogGpParameters::begin_of(static_cast<PerByte>(kind)), place);
        call = term(LogGpParameters::call);
        step = term(LogGpParameters::step);
        context_switch = term(LogGpParameters::context_switch);
        link = term(LogGpParameters::link);
    }

    Time call{}, step{}, context_switch{}, link{};

    const Time& per_byte(PerByte kind) const { return at(per_byte_, kind); }

    /// Returns the cost of a message at either end, without its bytes. Most messages of a step are
    /// alike, so the last answer is cached.
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
        charge(time, first_term_ + number, 1, parameters_.ns[number]);
        return time;
    }
    Time on_curve(std::size_t begin, CurvePlace place) const {
        return term(begin + place.first) * (1 - place.share_of_next) +
               term(begin + place.first + 1) * place.share_of_next;
    }

    const LogGpParameters& parameters_;
    std::size_t first_term_;
    std::array<Time, per_byte_kinds> per_byte_{};
    double last_size_ = -1;
    Time last_message_{};
};

}  // namespace tutti
#pragma GCC visibility pop
