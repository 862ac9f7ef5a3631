# SPDX-License-Identifier: Apache-2.0
"""What cannot be done is said in words, and the group stays usable."""
import datetime

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


expect(ValueError, "tutti cannot reduce torch.int64 by", lambda: dist.all_reduce(torch.zeros(3, dtype=torch.int64), dist.ReduceOp.BOR))
expect(ValueError, "dense tensors in memory of the host", lambda: dist.all_reduce(torch.zeros(3).to_sparse()))
expect(ValueError, "give src", lambda: dist.recv(torch.zeros(3)))
expect(ValueError, "all_to_all_single needs as much output as input", lambda: dist.all_to_all_single(torch.zeros(3), torch.zeros(4)))
expect(ValueError, "all_reduce_hook needs a group of the backend tutti",
       lambda: tutti_torch.all_reduce_hook(dist.new_group(backend="gloo"), None))
late = dist.all_reduce(torch.zeros(3, dtype=torch.int64), dist.ReduceOp.BOR, async_op=True)
expect(ValueError, "tutti cannot reduce torch.int64 by", late.wait)
assert late.is_completed() and not late.is_success() and isinstance(late.exception(), ValueError)
expect(RuntimeError, "tutti cannot reduce torch.int64 by", late.get_future().wait)
one = torch.ones(1)
dist.all_reduce(one)
assert one.item() == dist.get_world_size()
