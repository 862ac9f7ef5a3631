# SPDX-License-Identifier: Apache-2.0
"""The backend: a process group of torch that uses one communicator of tutti."""
import threading
import weakref
from datetime import timedelta

import torch.distributed as dist

from tutti import library

from . import calls, rendezvous
from .work import Work
from .worker import Worker, end_within

NAME = "tutti"
SUM = dist.ReduceOp.SUM


SECONDS_FOR_MESSAGES = 10


def close(comm, peers):
    """Frees the communicator after the messages between two ranks have ended. If a message gets no answer, keeps the communicator
    until the process ends."""
    if end_within(SECONDS_FOR_MESSAGES, list(peers.values())):
        library.free(comm)


class TuttiProcessGroup(dist.ProcessGroup):
    """Collectives of a group run in the order of their calls. The same holds for the messages to each peer, and for those from it.
    Waiting for a call raises TuttiError if a rank has failed or does not join within the timeout."""

    def __init__(self, store, rank, size, timeout=timedelta(minutes=30)):
        super().__init__(rank, size)
        self._seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        self._comm = rendezvous.join(store, rank, size, self._seconds)
        self._ranks, self._rank, self._name = size, rank, ""
        self._peers, self._peers_lock = {}, threading.Lock()
        self._worker = Worker(f"tutti rank {rank}", self._seconds, last=lambda comm=self._comm, peers=self._peers: close(comm, peers))
        weakref.finalize(self, self._worker.end).atexit = False

    def _start(self, call, *arguments):
        """Submits call(communicator, *arguments) to the worker and returns its work."""
        return Work(self._worker, self._worker.submit(lambda: call(self._comm, *arguments)))

    def _start_with_peer(self, call, tensors, peer, tag):
        tensor, = tensors
        calls.expect_host(tensor)
        with self._peers_lock:  # a peer has only one worker, which keeps the order of the messages
            worker = self._peers.get((call, peer))
            if worker is None:
                worker = self._peers[call, peer] = Worker(f"tutti rank {self._rank} {call.__name__} {peer}", self._seconds)
        return Work(worker, worker.submit(lambda: call(self._comm, tensor, peer, tag)))

    def getBackendName(self):  # pylint: disable=invalid-name
        return NAME

    # torch 2 keeps a group's name in its C++ backends, which a group in Python does not have.
    def _set_group_name(self, name):
        self._name = name

    @property
    def group_name(self):
        return self._name

    def allreduce(self, tensors, opts=None):
        return self.allreduce_coalesced([calls.only(listed(tensors), "all_reduce")], opts)

    def allreduce_coalesced(self, tensors, opts=None):
        calls.expect_host(*tensors)
        return self._start(calls.all_reduce, tensors, operation_of(opts))

    def average(self, tensor):
        """Averages the tensor over all ranks. Returns a future of the tensor."""
        calls.expect_host(tensor)
        return self._start(calls.all_reduce, [tensor], dist.ReduceOp.AVG).get_future().then(lambda done: done.value()[0])

    def reduce(self, tensors, opts):
        tensor = calls.only(tensors, "reduce")
        calls.expect_host(tensor)
        return self._start(calls.reduce, tensor, operation_of(opts), opts.rootRank, opts.rootRank == self._rank)

    def broadcast(self, tensors, opts=None):
        tensor = calls.only(listed(tensors), "broadcast")
        calls.expect_host(tensor)
        root = opts.rootRank if opts is not None else 0
        return self._start(calls.broadcast, tensor, root, root == self._rank)

    def allgather(self, outputs, inputs, opts=None):
        output, tensor = calls.only(outputs, "all_gather"), calls.only(inputs, "all_gather")
        calls.expect_host(*output, tensor)
        return self._start(calls.all_gather, output, tensor, self._rank, self._ranks)

    def _allgather_base(self, output, tensor, opts=None):
        calls.expect_host(output, tensor)
        return self._start(calls.all_gather_into, output, tensor, self._ranks)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        calls.expect_host(*outputs, *inputs)
        return self._start(lambda comm: [calls.all_gather_into(comm, *each, self._ranks)[0] for each in zip(outputs, inputs)])

    def reduce_scatter(self, outputs, inputs, opts=None):
        output, blocks = calls.only(outputs, "reduce_scatter"), calls.only(inputs, "reduce_scatter")
        calls.expect_host(output, *blocks)
        return self._start(calls.reduce_scatter, output, blocks, operation_of(opts), self._rank, self._ranks)

    def _reduce_scatter_base(self, output, tensor, opts=None):
        calls.expect_host(output, tensor)
        return self._start(calls.reduce_scatter_from, output, tensor, operation_of(opts), self._ranks)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        calls.expect_host(*outputs, *inputs)
        operation = operation_of(opts)
        return self._start(lambda comm: [calls.reduce_scatter_from(comm, *each, operation, self._ranks)[0]
                                         for each in zip(outputs, inputs)])

    def gather(self, outputs, inputs, opts):
        tensor, = inputs
        output = outputs[0] if opts.rootRank == self._rank else None
        calls.expect_host(*(output or []), tensor)
        return self._start(calls.gather, output, tensor, opts.rootRank, self._ranks)

    def scatter(self, outputs, inputs, opts):
        tensor, = outputs
        blocks = inputs[0] if opts.rootRank == self._rank else None
        calls.expect_host(tensor, *(blocks or []))
        return self._start(calls.scatter, tensor, blocks, opts.rootRank, self._ranks)

    def alltoall(self, outputs, inputs, opts=None):
        calls.expect_host(*outputs, *inputs)
        return self._start(calls.all_to_all, outputs, inputs, self._ranks)

    def alltoall_base(self, output, tensor, output_sizes, input_sizes, opts=None):
        calls.expect_host(output, tensor)
        if not output_sizes and not input_sizes and calls.bytes_of(output) != calls.bytes_of(tensor):
            raise ValueError("all_to_all_single without split sizes needs output and input of equal size; pass split sizes")
        return self._start(calls.all_to_all_single, output, tensor, rows_of_blocks(output, output_sizes, self._ranks),
                           rows_of_blocks(tensor, input_sizes, self._ranks))

    def barrier(self, opts=None):
        return self._start(calls.barrier)

    def send(self, tensors, peer, tag=0):
        return self._start_with_peer(calls.send, tensors, peer, tag)

    def recv(self, tensors, peer, tag=0):
        return self._start_with_peer(calls.receive, tensors, peer, tag)

    def recv_anysource(self, tensors, tag=0):
        raise ValueError("tutti cannot receive from any source; pass src to recv")

    def allgather_coalesced(self, outputs, inputs, opts=None):
        raise ValueError("tutti has no all_gather_coalesced; use all_gather for each tensor")

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        raise ValueError("tutti has no monitored_barrier; use barrier, which names a rank that does not arrive within the timeout")


def listed(tensors):
    return [tensors] if hasattr(tensors, "device") else list(tensors)


def operation_of(opts):
    return opts.reduceOp if opts is not None else SUM


def rows_of_blocks(tensor, sizes, ranks):
    """Returns the numbers of rows of the ranks' blocks, into which a tensor is split along its first dimension. Without sizes they
    are equal."""
    rows = tensor.shape[0]
    if not sizes and rows % ranks != 0:
        raise ValueError(f"all_to_all_single cannot split {rows} rows into {ranks} equal blocks; pass split sizes")
    if sizes and (len(sizes) != ranks or sum(sizes) != rows or min(sizes) < 0):
        raise ValueError(f"all_to_all_single needs {ranks} split sizes with a sum of {rows}, not {list(sizes)}")
    return list(sizes) or [rows // ranks] * ranks


def create(store, rank, size, timeout):
    return TuttiProcessGroup(store, rank, size, timeout)


def register():
    """Registers the backend, once per process."""
    if hasattr(dist.Backend, NAME.upper()):
        return
    try:
        dist.Backend.register_backend(NAME, create, devices=["cpu"])  # torch 2
    except TypeError:
        dist.Backend.register_backend(NAME, create)
