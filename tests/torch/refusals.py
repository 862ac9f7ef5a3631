# SPDX-License-Identifier: Apache-2.0
"""Unsupported calls raise errors, and the group stays usable."""
import datetime
import time

import torch
import torch.distributed as dist
import tutti_torch

dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))


def expect(error, words, call):
    try:
        call()
    except error as problem:
        assert words in str(problem), problem
    else:
        raise AssertionError(f"no error: {words}")


expect(ValueError, "cannot reduce torch.int64 by BOR", lambda: dist.all_reduce(torch.zeros(3, dtype=torch.int64), dist.ReduceOp.BOR))
expect(ValueError, "cannot reduce torch.complex64 by PRODUCT",
       lambda: dist.reduce(torch.zeros(3, dtype=torch.complex64), 0, dist.ReduceOp.PRODUCT))
pair = [torch.zeros(3), torch.zeros(3)]
expect(ValueError, "no all_reduce of 2 tensors", lambda: dist.group.WORLD.allreduce(pair))
expect(ValueError, "no broadcast of 2 tensors", lambda: dist.group.WORLD.broadcast(pair))
if hasattr(dist, "all_gather_multigpu"):  # torch 1
    expect(ValueError, "no reduce of 2 tensors", lambda: dist.reduce_multigpu(pair, 0))
    expect(ValueError, "no all_gather of 2 tensors", lambda: dist.all_gather_multigpu([pair, pair], pair))
    expect(ValueError, "no reduce_scatter of 2 tensors", lambda: dist.reduce_scatter_multigpu(pair, [pair, pair]))
expect(ValueError, "no all_gather_coalesced; use all_gather ", lambda: dist.all_gather_coalesced([pair, pair], pair))
expect(ValueError, "no monitored_barrier; use barrier", lambda: dist.group.WORLD.monitored_barrier())
expect(ValueError, "dense CPU tensors", lambda: dist.all_reduce(torch.zeros(3).to_sparse()))
expect(ValueError, "pass src", lambda: dist.recv(torch.zeros(3)))
expect(ValueError, "equal size", lambda: dist.all_to_all_single(torch.zeros(3), torch.zeros(4)))
expect(ValueError, "split 3 rows", lambda: dist.all_to_all_single(torch.zeros(3), torch.zeros(3)))
expect(ValueError, "needs 2 split sizes", lambda: dist.all_to_all_single(torch.zeros(4), torch.zeros(4), [4], [2, 2]))
expect(ValueError, "a sum of 4", lambda: dist.all_to_all_single(torch.zeros(4), torch.zeros(4), [2, 2], [2, 1]))
expect(ValueError, "needs a group",
       lambda: tutti_torch.all_reduce_hook(dist.new_group(backend="gloo"), None))
alone = [dist.new_group([rank], backend="tutti") for rank in range(dist.get_world_size())][dist.get_rank()]
three, two_rows = torch.zeros(3), [torch.zeros(3), torch.zeros(3)]
for group, wrong, count in ((None, [three], 2), (alone, two_rows, 1)):
    expect(ValueError, f"expected {count} tensors", lambda: dist.all_gather(wrong, three, group=group))
    expect(ValueError, f"expected {count} tensors", lambda: dist.reduce_scatter(three, wrong, group=group))
    expect(ValueError, f"expected {count} blocks of 3", lambda: dist._all_gather_base(torch.cat(wrong), three, group=group))
    expect(ValueError, f"expected {count} blocks of 3", lambda: dist._reduce_scatter_base(three, torch.cat(wrong), group=group))
others = [torch.zeros(4), torch.zeros(4)]
expect(ValueError, "one of 3 elements", lambda: dist.all_gather(others, three))
expect(ValueError, "one of 3 elements", lambda: dist.reduce_scatter(three, others))
expect(ValueError, "expected 1 tensors of 3", lambda: dist.gather(three, two_rows, dist.get_rank(), group=alone))
expect(ValueError, "expected 1 tensors of 3", lambda: dist.scatter(three, two_rows, dist.get_rank(), group=alone))
late = dist.all_reduce(torch.zeros(3, dtype=torch.int64), dist.ReduceOp.BOR, async_op=True)
expect(ValueError, "cannot reduce torch.int64", late.wait)
assert late.is_completed() and not late.is_success() and isinstance(late.exception(), ValueError)
expect(RuntimeError, "cannot reduce torch.int64", late.get_future().wait)
one = torch.ones(1)
dist.all_reduce(one)
assert one.item() == dist.get_world_size()

expect(tutti_torch.TuttiError, "deadline 0", lambda: dist.new_group(backend="tutti", timeout=datetime.timedelta(0)))
patient = dist.new_group(backend="tutti", timeout=datetime.timedelta.max)
dist.all_reduce(one, group=patient)
assert one.item() == dist.get_world_size() ** 2

hasty = dist.new_group(backend="tutti", timeout=datetime.timedelta(seconds=2))
if dist.get_rank() == 0:
    began = time.monotonic()
    expect(tutti_torch.TuttiError, "rank 1", lambda: dist.all_reduce(one, group=hasty))
    assert time.monotonic() - began < 20, "the timeout of another group"
dist.barrier()
