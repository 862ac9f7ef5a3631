// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>

namespace tutti {

/// How the transfers of a plan travel. See docs/background/shared_memory.md.
enum class TransferMethod {
    messages,
    /// Within a host: messages in cache lines that carry data and flag (the LL protocol).
    lines,
    /// In place: read by the receiver, or written by the rank that computes them, in registered
    /// memory or in heaps that the peers have mapped.
    registered,
    mapped,
    copy_in_copy_out,  ///< copied by their owner, piece by piece, to where the peers load them
    single_copy,       ///< read or written through the kernel (CMA)
    /// By the blocks of threads of devices: in lines that carry their flags, or in place.
    device_lines,
    device_memory,
};

/// A set of methods: those of a transport.
class TransferMethods {
public:
    constexpr TransferMethods(std::initializer_list<TransferMethod> methods) {
        for (const TransferMethod one : methods) bits_ |= bit(one);
    }

    constexpr bool has(TransferMethod one) const { return (bits_ & bit(one)) != 0; }
    constexpr bool has_only(TransferMethods allowed) const { return (bits_ & ~allowed.bits_) == 0; }
    constexpr TransferMethods without(TransferMethods others) const {
        others.bits_ = bits_ & ~others.bits_;
        return others;
    }

    /// Whether the transport only sends messages.
    constexpr bool are_messages() const {
        return has_only({TransferMethod::messages, TransferMethod::lines});
    }
    /// Whether ranks of one host reach each other's memory, and others exchange messages.
    constexpr bool are_hybrid() const { return has(TransferMethod::messages) && !are_messages(); }
    /// Whether plans run on devices: device memory is registered memory for them, and any other is
    /// copied.
    constexpr bool are_of_devices() const { return has(TransferMethod::device_memory); }
    /// Whether the transport reaches only ranks of the same host, through their processors.
    constexpr bool are_of_one_host() const {
        return !has(TransferMethod::messages) && !are_of_devices();
    }

private:
    static constexpr unsigned bit(TransferMethod one) { return 1U << static_cast<unsigned>(one); }

    unsigned bits_ = 0;
};

}  // namespace tutti
