// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs.
#include "tests/simulated_gpu/gpu.hpp"
#include "tests/simulated_gpu/stream.hpp"

namespace tutti::simulated {
namespace {

struct Event {
    int gpu;
    std::shared_ptr<Moment> last;  // none before it was recorded
};

using Graph = std::vector<Stream::Task>;

Event& event_of(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

}  // namespace
}  // namespace tutti::simulated

using namespace tutti::simulated;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    return answer_of([&] {
        auto* const made = new Stream(current_number());
        current_gpu().add(*made);
        *stream = reinterpret_cast<cudaStream_t>(made);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    auto* const gone = reinterpret_cast<Stream*>(stream);
    for (int number = 0; number < how_many_gpus(); ++number) gpu(number).remove(*gone);
    delete gone;
    return answer(failure());
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return answer_of([&] {
        stream_of(stream).drain();
        return failure();
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return answer_of([&] {
        if (const auto moment = event_of(event).last)
            stream_of(stream).add([moment] { moment->wait(); });
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return answer_of([&] {
        *event = reinterpret_cast<cudaEvent_t>(new Event{current_number(), nullptr});
        return cudaSuccess;
    });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete reinterpret_cast<Event*>(event);
    return answer(failure());
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return answer_of([&] {
        if (event_of(event).gpu != stream_of(stream).gpu()) return cudaErrorInvalidResourceHandle;
        event_of(event).last = stream_of(stream).mark();
        return cudaSuccess;
    });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return answer_of([&] {
        const auto& moment = event_of(event).last;
        return moment == nullptr || moment->is_past() ? failure() : cudaErrorNotReady;
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return answer_of([&] {
        if (const auto moment = event_of(event).last) moment->wait();
        return failure();
    });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return answer_of([&] {
        const auto &began = event_of(from).last, &ended = event_of(to).last;
        if (began == nullptr || ended == nullptr) return cudaErrorInvalidResourceHandle;
        if (!began->is_past() || !ended->is_past()) return cudaErrorNotReady;
        *milliseconds = static_cast<float>(ended->ns() - began->ns()) * 1e-6F;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    return answer_of([&] {
        stream_of(stream).begin_capture();
        return cudaSuccess;
    });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return answer_of([&] {
        *graph = reinterpret_cast<cudaGraph_t>(new Graph(stream_of(stream).end_capture()));
        return cudaSuccess;
    });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
    return answer_of([&] {
        *executable =
            reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
        return cudaSuccess;
    });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return answer_of([&] {
        for (const Stream::Task& task : *reinterpret_cast<Graph*>(executable))
            stream_of(stream).add(task);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete reinterpret_cast<Graph*>(graph);
    return answer(failure());
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete reinterpret_cast<Graph*>(executable);
    return answer(failure());
}

}  // extern "C"
