"""A transformers model as a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentenvs.errors import AgentEnvsError, BadArgument, PolicyError
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.policies.hf_batching import Desk, Job
from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_load import (
    context_length,
    fingerprint,
    ignored_defaults,
    load,
    need,
)
from agentenvs.harness.policies.hf_loop import Loop
from agentenvs.harness.policies.hf_prompting import decoder, encode, end_tokens
from agentenvs.harness.policies.hf_rows import Row

__all__ = ["HFPolicy", "from_spec"]

_GB = 1 << 30


class HFPolicy:
    """Lets a transformers causal language model act.

    One batch is decoded in a worker thread as long as requests wait: a row that ends leaves it,
    and a request that has arrived meanwhile takes its place, in order of arrival. Each row has
    its own temperature, top_p, length, stop strings and random generator; the model's own
    sampling defaults (top_k, repetition penalty, ...) are never used. Where a conversation goes
    on from an earlier one, only its new part is read.

        >>> policy = HFPolicy(model, tokenizer)                        # doctest: +SKIP
        >>> agentenvs.harness.run("BFCLv4", policy, tasks="mini")      # doctest: +SKIP

    Given a seed, a row draws the same whatever stands beside it, up to rounding: who is in the
    batch and kept states change logits by about 1e-6 of their size in float32, which as good as
    never changes a token, and by about 1e-2 in bfloat16, which now and then does. Where bfloat16
    runs must repeat to the token, use `max_batch=1` and `prefix_gb=0`.

    Args:
        model: a transformers causal language model; its weights may be trained between
            requests (changes through `.data` are not noticed: call `forget` after them).
        tokenizer: its tokenizer.
        name: recorded with a run; default the model's name or path.
        form: "chat" or "completion"; default "chat" where there is a chat template.
        max_batch: most rows at a time.
        context: most tokens of prompt and completion together; default what the model says.
            A request beyond it is answered with `finish_reason="context"`, without drawing.
        threads: torch's threads for this process, or None to leave them.
        chat_template: a template, or a file with one, in place of the tokenizer's.
        prefix_gb: memory for attention states of past prompts; 0 reads every prompt anew.
        cache_gb: a bound on the attention states of the batch: a request joins where all rows
            could reach their full length; None for no bound but `max_batch`. A single row always
            runs, and reading takes as much as a row beside it.
        chunk: most prompt tokens read between two steps of the batch.
        wait: seconds without a new request after which an unfilled batch starts.

    Raises:
        BadArgument: an argument out of range.
        PolicyError: torch or transformers is missing, or "chat" is asked for without a template.
    """

    scripted = False

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str | None = None,
        form: Form | None = None,
        max_batch: int = 16,
        context: int | None = None,
        threads: int | None = None,
        chat_template: str | None = None,
        prefix_gb: float = 2.0,
        cache_gb: float | None = None,
        chunk: int = 512,
        wait: float = 0.005,
    ) -> None:
        need("torch", "transformers")
        _check(max_batch=max_batch, chunk=chunk, threads=threads)
        if form not in (None, "chat", "completion"):
            raise BadArgument(f"Expected `form` to be 'chat' or 'completion', got {form!r}.")
        if context is not None and context < 2:
            raise BadArgument(f"Expected `context` to be at least 2 tokens, got {context}.")
        if not prefix_gb >= 0:
            raise BadArgument(f"Expected `prefix_gb` to be at least 0, got {prefix_gb}.")
        if cache_gb is not None and not cache_gb > 0:
            raise BadArgument(f"Expected `cache_gb` to be above 0, got {cache_gb}.")
        if chat_template is not None:
            tokenizer.chat_template = _template(chat_template)
        if form == "chat" and not tokenizer.chat_template:
            raise PolicyError("The tokenizer has no chat template; give `chat_template`.")
        self.model = model
        self.tokenizer = tokenizer
        self.name = name or str(getattr(model.config, "_name_or_path", "") or "model")
        self.form: Form = form or ("chat" if tokenizer.chat_template else "completion")
        self.context = context if context is not None else context_length(model, tokenizer)
        self.threads = threads
        configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        if configured is None:
            configured = getattr(model.config, "eos_token_id", None)
        self.ends = end_tokens(tokenizer, configured)
        self._decoder = Decoder(model, int(prefix_gb * _GB))
        self._loop = Loop(
            self._decoder, max_batch, chunk, None if cache_gb is None else int(cache_gb * _GB)
        )
        self._desk: Desk[Request, Completion] = Desk(self._answer, wait)
        self._transport = {
            "max_batch": max_batch,
            "prefix_gb": prefix_gb,
            "cache_gb": cache_gb,
            "chunk": chunk,
            "wait": wait,
            "threads": threads,
        }

    async def generate(self, request: Request) -> Completion:
        """Answer one request, in one batch with those that are being answered already.

        Returns:
            A completion with token ids and their log-probabilities under the distribution that
            they were drawn from. The ids include the end token or stop string, the text does
            not; special tokens that a model marks its calls with stay in the text.

        Raises:
            PolicyError: the request cannot be rendered, the model failed, or the policy was
                closed meanwhile.
        """
        return await self._desk.ask(request)

    def _answer(self, desk: Desk[Request, Completion]) -> None:
        """Run the decoding loop until no request is left; called in the worker thread."""
        jobs: dict[Row, Job[Request, Completion]] = {}

        def arrivals(room: int, idle: bool) -> list[Row]:
            if idle:
                desk.gather(room)
            rows: list[Row] = []
            while len(rows) < room and (taken := desk.take(room - len(rows))):
                for job in taken:
                    row = self._row(job)
                    if row is not None:
                        jobs[row] = job
                        rows.append(row)
            return rows

        def ended(row: Row, error: Exception | None) -> None:
            job = jobs.pop(row)
            try:
                job.answer(error or row.completion())
            except Exception as failure:
                job.answer(PolicyError(f"The tokenizer failed: {failure!r}"))

        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        self._loop.run(arrivals, ended)

    def _row(self, job: Job[Request, Completion]) -> Row | None:
        """Return a row for the decoding loop, or answer at once what the model is not asked."""
        request = job.question
        try:
            ids = encode(self.tokenizer, request)
            row = Row(request, ids, self.ends, decoder(self.tokenizer))
        except AgentEnvsError as error:
            job.answer(error)
            return None
        except Exception as error:
            job.answer(PolicyError(f"The request cannot be rendered: {error!r}"))
            return None
        if self.context is not None and len(ids) + request.max_tokens > self.context:
            none = Completion(token_ids=(), prompt_token_ids=tuple(ids), finish_reason="context")
            job.answer(none)
            return None
        row.cancelled = lambda: job.cancelled
        return row

    def forget(self) -> None:
        """Drop the attention states of past prompts."""
        self._decoder.store.clear()

    def describe(self) -> Mapping[str, Any]:
        """Return the settings that a run records."""
        import torch
        import transformers

        template = self.tokenizer.chat_template
        return {
            "policy": "hf",
            "model": self.name,
            "weights": fingerprint(self.model),
            "form": self.form,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": getattr(self.model.config, "_attn_implementation", None),
            "context": self.context,
            "end_tokens": sorted(self.ends),
            "chat_template": hashlib.sha256(str(template).encode()).hexdigest()[:12]
            if template and self.form == "chat"
            else None,
            "ignored_defaults": ignored_defaults(self.model),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }

    def transport(self) -> Mapping[str, Any]:
        """Return the settings that change an answer by no more than rounding."""
        return {**self._transport}

    async def close(self) -> None:
        """End the worker thread and drop kept states; the model stays, and may be used again.

        Requests that still wait get a `PolicyError`.
        """
        await self._desk.close()
        self.forget()


def _check(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is None and name == "threads":
            continue
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadArgument(f"Expected `{name}` to be an int of at least 1, got {count!r}.")


def _template(given: str) -> str:
    """Read a template file where a path is given; a template is never a file's name."""
    if "{" in given:
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise PolicyError(f"The chat template {given!r} cannot be read: {error}") from error


def from_spec(
    rest: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    attn_implementation: str | None = None,
    **settings: Any,
) -> HFPolicy:
    """Return the policy `hf:REST`.

    Args:
        rest: a folder, a hub name, or a `.gguf` file (needs the extra `gguf`).
        dtype: "auto" (the checkpoint's), "float32", "bfloat16" or "float16".
        device: a torch device such as "cpu", "cuda:1" or "mps", or "auto": the first GPU, else
            the CPU.
        revision: branch, tag or commit of a hub model.
        attn_implementation: how transformers computes attention ("eager", "sdpa", ...); default
            its own choice.
        settings: further arguments of `HFPolicy`.

    Raises:
        PolicyError: there is no such model or device, or a package is missing.
        BadArgument: an argument out of range.
    """
    model, tokenizer, name = load(
        rest,
        dtype=dtype,
        device=device,
        revision=revision,
        attn_implementation=attn_implementation,
    )
    return HFPolicy(model, tokenizer, **{"name": name, **settings})
