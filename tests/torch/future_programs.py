# SPDX-License-Identifier: Apache-2.0
"""One rank of a program whose callbacks use other collectives than all_reduce. Usage: future_programs.py FUNCTION."""
import datetime
import sys

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401  # pylint: disable=unused-import  # registers the backend

torch.set_num_threads(1)
dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
RANK, RANKS = dist.get_rank(), dist.get_world_size()


def expect(got, expected):
    assert got.tolist() == expected, f"rank {RANK}: {got.tolist()}, not {expected}"


def begin(tensor, group=None):
    return dist.all_reduce(tensor, group=group, async_op=True).get_future()


def chain():
    """Each callback of a chain begins another collective and waits for it."""
    def scatter(done):
        block = torch.empty(1)
        dist.reduce_scatter(block, list((done.value()[0] + torch.arange(RANKS)).split(1)), async_op=True).get_future().wait()
        return block

    def gather(done):
        blocks = [torch.empty(1) for _ in range(RANKS)]
        dist.all_gather(blocks, done.value(), async_op=True).wait()
        return torch.cat(blocks)

    def pass_on(done):
        dist.broadcast(done.value(), RANKS - 1)
        return done.value()

    result = begin(torch.ones(RANKS)).then(scatter).then(gather).then(pass_on).wait()
    expect(result, [float((RANKS + block) * RANKS) for block in range(RANKS)])


def sharded_hook():
    """A hook of DistributedDataParallel averages shards and gathers them, as sharded optimizers do."""
    def hook(_, bucket):
        gradients = bucket.buffer()
        padded = torch.cat([gradients, gradients.new_zeros(-gradients.numel() % RANKS)])
        shard = torch.empty(padded.numel() // RANKS)

        def gather(_):
            dist._all_gather_base(padded, shard / RANKS, async_op=True).get_future().wait()
            return padded[:gradients.numel()]

        return dist._reduce_scatter_base(shard, padded, async_op=True).get_future().then(gather)

    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 3))
    model.register_comm_hook(None, hook)
    for step in range(3):
        model.zero_grad()
        model(torch.full((2, 5), float(RANK + step))).sum().backward()
        expect(model.module.weight.grad, [[2 * (step + (RANKS - 1) / 2)] * 5] * 3)


def ring_of_messages():
    """A callback exchanges messages with its neighbours."""
    def exchange(done):
        got = torch.empty(2)
        works = [dist.isend(done.value()[0] + RANK, (RANK + 1) % RANKS), dist.irecv(got, (RANK - 1) % RANKS)]
        for work in works:
            work.wait()
        return got

    expect(begin(torch.ones(2)).then(exchange).wait(), [float(RANKS + (RANK - 1) % RANKS)] * 2)


def other_group():
    """A callback of a group begins calls of another one, whose callback begins calls of the first one."""
    group, tensors = dist.new_group(backend="tutti"), [torch.ones(2) for _ in range(3)]

    def inner(done):
        dist.all_reduce(tensors[2])
        return done.value()

    begin(tensors[0]).then(lambda _: begin(tensors[1], group).then(inner).wait()).wait()
    for each in tensors:
        expect(each, [float(RANKS)] * 2)


def own_future():
    """Callbacks of all buckets of a step complete a future of the program, which has a callback that begins the last call."""
    norms, step = torch.zeros(1), torch.futures.Future()
    after = step.then(lambda _: begin(norms).wait())
    buckets = [begin(torch.full((4 + number,), float(number))) for number in range(5)]

    def add(done):
        norms.add_(done.value()[0].sum())

    torch.futures.collect_all([each.then(add) for each in buckets]).then(lambda _: step.set_result(None))
    after.wait()
    expect(norms, [float(sum(number * (4 + number) for number in range(5)) * RANKS ** 2)])


globals()[sys.argv[1]]()
dist.barrier()
