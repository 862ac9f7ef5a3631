# SPDX-License-Identifier: Apache-2.0
"""Records the messages of PyTorch's DistributedDataParallel with their times: a trace for 'tutti workload replay'.

    import tutti_record                                  # with scripts/lib in PYTHONPATH
    model = DistributedDataParallel(network)
    tutti_record.attach(model, "traces/network.jsonl")   # before the first step

After some steps that are not recorded, two kinds of steps alternate:
- without synchronisation: nothing is sent during the backward pass, so the times when gradients become ready are not disturbed;
  the gradients are averaged afterwards, so the training does not change;
- sent: a communication hook records each bucket's parameters, launch and completion.
When enough of both were recorded, rank 0 writes the trace, and recording ends. Times are those of the host: for an accelerator
they include its kernels only if the program waits for them (torch.cuda.synchronize()).
"""

import json
import platform
import time
from pathlib import Path

import torch
import torch.distributed as dist

UNCOUNTED = 4  # DistributedDataParallel sorts its buckets again after its first step


def attach(model, path, iterations=10, dump=0, about=None):
    """Records `iterations` steps of each kind of `model`, and the gradients of `dump` steps, into `path`.

    `about` has further fields of the trace's header: source, licence, note.
    """
    return Recorder(model, Path(path), iterations, dump, about or {})


class Recorder:
    def __init__(self, model, path, iterations, dump, about):
        self.model, self.path, self.iterations, self.dump, self.about = model, path, iterations, dump, about
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        names = {id(parameter): name for name, parameter in model.module.named_parameters()}
        self.parameters = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
        self.names = [names[id(parameter)] for parameter in self.parameters]
        self.place = {id(parameter): place for place, parameter in enumerate(self.parameters)}
        self.step, self.without_sync, self.sent, self.dumped = -1, [], [], 0
        self.buckets, self.order = {}, None
        self.is_over = False
        self.forward_at = self.backward_at = None
        self.watch_ready()
        self.watch_backward()
        model.register_forward_pre_hook(self.before_forward)
        model.register_comm_hook(None, self.send)

    def watch_ready(self):
        self.hooked_nodes = []  # keeps references: a node that is created again has no hook
        for place, parameter in enumerate(self.parameters):
            def note(*_, place=place):
                if self.backward_at is not None:
                    self.ready[place] = time.perf_counter()
            if hasattr(parameter, "register_post_accumulate_grad_hook"):
                parameter.register_post_accumulate_grad_hook(note)
            else:
                node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
                node.register_hook(note)
                self.hooked_nodes.append(node)

    def watch_backward(self):
        original = torch.autograd.backward

        def backward(*words, **named):
            if self.is_over or self.forward_at is None:
                return original(*words, **named)
            self.before_backward()
            result = original(*words, **named)
            self.after_backward()
            return result
        torch.autograd.backward = backward

    def before_forward(self, *_):
        if self.is_over:
            return
        now = time.perf_counter()
        if self.step >= UNCOUNTED and self.is_without_sync() and self.without_sync:
            self.without_sync[-1]["optimizer_us"] = micros(now - self.left_at)
        if len(self.without_sync) >= self.iterations and len(self.sent) >= self.iterations:
            self.finish()
            return
        self.step += 1
        self.model.require_backward_grad_sync = not self.is_without_sync()
        self.forward_at = time.perf_counter()

    def is_without_sync(self):
        return self.step >= UNCOUNTED and self.step % 2 == 0

    def before_backward(self):
        self.ready, self.launched, self.done = {}, {}, {}
        self.backward_at = time.perf_counter()

    def after_backward(self):
        begin, end = self.backward_at, time.perf_counter()
        self.backward_at = None
        if self.is_without_sync():
            self.average()
            if self.order is None:
                self.order = self.agreed_order()
            self.without_sync.append({"forward_us": micros(begin - self.forward_at), "backward_us": micros(end - begin),
                               "ready_us": [micros(self.ready.get(place, end) - begin) for place in self.order]})
        elif self.step >= UNCOUNTED:
            self.sent.append([{"numel": self.buckets[i]["numel"], "start_us": micros(self.launched[i] - begin),
                               "dur_us": micros(self.done[i] - self.launched[i])} for i in sorted(self.launched)])
        self.forward_at = None
        self.left_at = time.perf_counter()

    def average(self):
        """Sends the gradients that the backward pass left out, in one message per type."""
        by_type = {}
        for parameter in self.parameters:
            if parameter.grad is not None:
                by_type.setdefault(parameter.grad.dtype, []).append(parameter.grad)
        for gradients in by_type.values():
            flat = torch.cat([gradient.reshape(-1) for gradient in gradients]) / self.world
            dist.all_reduce(flat)
            at = 0
            for gradient in gradients:
                gradient.copy_(flat[at:at + gradient.numel()].view_as(gradient))
                at += gradient.numel()

    def agreed_order(self):
        """Returns the gradients in the order of the buckets, in which they became ready on rank 0."""
        return [place for i in sorted(self.buckets) for place in self.buckets[i]["params"]]

    def send(self, _, bucket):  # PyTorch requires the name 'bucket'
        i, buffer = bucket.index(), bucket.buffer()
        now = time.perf_counter()
        if not self.is_over and self.backward_at is not None:
            self.launched[i] = now
            self.buckets[i] = {"numel": buffer.numel(), "params": [self.place[id(p)] for p in bucket.parameters()]}
            if self.step >= UNCOUNTED and self.dumped < self.dump and buffer.dtype == torch.float32:
                self.file_of(i).write_bytes(buffer.detach().cpu().numpy().astype("<f4").tobytes())
                if bucket.is_last():
                    self.dumped += 1
        buffer.div_(self.world)
        launched, done = dist.all_reduce(buffer, async_op=True).get_future(), self.done if not self.is_over else {}

        def end(future):
            done[i] = time.perf_counter()
            return future.value()[0]
        return launched.then(end)

    def file_of(self, bucket):
        return self.path.with_name(f"{self.path.stem}.step{self.dumped}.bucket{bucket}.rank{self.rank}.f32")

    def finish(self):
        self.is_over = True
        self.model.require_backward_grad_sync = True
        rows = [{"line": "iteration", "rank": self.rank, **computing, "allreduce": sent}
                for computing, sent in zip(self.without_sync, self.sent)]
        of_ranks = [None] * self.world
        dist.all_gather_object(of_ranks, rows)
        if self.rank == 0:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(as_lines(self.head(), self.rows_of_model()
                                          + [row for rows in of_ranks for row in rows]), encoding="utf-8")

    def head(self):
        return {"schema": "gradtrace/1", "form": "lines", "kind": "gradients", "model": self.path.stem, **self.about,
                "device": f"{platform.machine()}, {self.parameters[0].device.type}, {torch.get_num_threads()} thread(s)",
                "framework": f"torch {torch.__version__}, {dist.get_backend()}", "world": self.world,
                "dtype": str(self.parameters[0].dtype).replace("torch.", ""), "ready_order": self.order}

    def rows_of_model(self):
        rows = [{"line": "parameter", "id": i, "name": name, "shape": list(parameter.shape)}
                for i, (name, parameter) in enumerate(zip(self.names, self.parameters))]
        if self.model.broadcast_buffers:
            sizes = {}
            for buffer in self.model.module.buffers():
                sizes[buffer.element_size()] = sizes.get(buffer.element_size(), 0) + buffer.numel()
            rows += [{"line": "buffer", "numel": count, "elem_bytes": size} for size, count in sizes.items()]
        return rows + [{"line": "bucket", **self.buckets[i]} for i in sorted(self.buckets)]


def micros(seconds):
    return round(max(seconds, 0) * 1e6, 1)


def as_lines(head, rows):
    rows = [head, *rows]
    rows.append({"line": "end", "lines": len(rows) + 1})
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
