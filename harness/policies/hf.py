"""A transformers model as a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import AgentEnvsError, BadArgument, PolicyError
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.policies.hf_batching import Job, MicroBatcher
from agentenvs.harness.policies.hf_load import (
    context_length,
    fingerprint,
    ignored_defaults,
    load,
    need,
)
from agentenvs.harness.policies.hf_prompting import decoder, encode, end_tokens
from agentenvs.harness.policies.hf_rows import Row

__all__ = ["HFPolicy", "from_spec"]


class HFPolicy:
    """Lets a transformers causal language model act.

    Requests that are awaited at the same time are answered as one batch in a worker thread.
    Each row has its own temperature, top_p, length, stop strings and random generator; the
    model's own sampling defaults (top_k, repetition penalty, ...) are never used. Where a
    conversation goes on from an earlier one, only its new part is read.

        >>> policy = HFPolicy(model, tokenizer)                        # doctest: +SKIP
        >>> agentenvs.harness.run("BFCLv4", policy, tasks="mini")      # doctest: +SKIP

    Given a seed, a row draws the same whatever stands beside it, up to rounding: batch size and
    kept states change logits by about 1e-6 of their size in float32, which as good as never
    changes a token, and by about 1e-2 in bfloat16, which now and then does. Where bfloat16 runs
    must repeat to the token, use `max_batch=1` and `prefix_gb=0`.

    Args:
        model: a transformers causal language model; its weights may be trained between
            requests (changes through `.data` are not noticed: call `forget` after them).
        tokenizer: its tokenizer.
        name: recorded with a run; default the model's name or path.
        form: "chat" or "completion"; default "chat" where there is a chat template.
        max_batch: most rows a batch.
        context: most tokens of prompt and completion together; default what the model says.
            A request beyond it is answered with `finish_reason="context"`, without drawing.
        threads: torch's threads for this process, or None to leave them.
        chat_template: a template, or a file with one, in place of the tokenizer's.
        prefix_gb: memory for attention states of past prompts; 0 reads every prompt anew.
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
        wait: float = 0.005,
    ) -> None:
        need("torch", "transformers")
        from agentenvs.harness.policies.hf_decode import Decoder

        if form not in (None, "chat", "completion"):
            raise BadArgument(f"Expected `form` to be 'chat' or 'completion', got {form!r}.")
        if context is not None and context < 2:
            raise BadArgument(f"Expected `context` to be at least 2 tokens, got {context}.")
        if threads is not None and threads < 1:
            raise BadArgument(f"Expected `threads` to be at least 1, got {threads}.")
        if prefix_gb < 0:
            raise BadArgument(f"Expected `prefix_gb` to be at least 0, got {prefix_gb}.")
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
        self._decoder = Decoder(model, int(prefix_gb * (1 << 30)))
        self._batcher: MicroBatcher[Request, Completion] = MicroBatcher(
            self._answer, max_batch, wait
        )

    async def generate(self, request: Request) -> Completion:
        """Answer one request, together with those that wait at the same time.

        Returns:
            A completion with token ids and their log-probabilities under the distribution that
            they were drawn from. The ids include the end token or stop string, the text does
            not; special tokens that a model marks its calls with stay in the text.

        Raises:
            PolicyError: the request cannot be rendered, or the model failed.
        """
        return await self._batcher.ask(request)

    def _answer(self, jobs: Sequence[Job[Request, Completion]]) -> list[Completion | Exception]:
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        answers: dict[int, Completion | Exception] = {}
        rows: dict[int, Row] = {}
        for index, job in enumerate(jobs):
            try:
                ids = encode(self.tokenizer, job.question)
            except AgentEnvsError as error:
                answers[index] = error
                continue
            except Exception as error:
                answers[index] = PolicyError(f"The request cannot be rendered: {error!r}")
                continue
            if self.context is not None and len(ids) + job.question.max_tokens > self.context:
                answers[index] = Completion(
                    token_ids=(), prompt_token_ids=tuple(ids), finish_reason="context"
                )
                continue
            rows[index] = self._row(job, ids)
        self._complete(rows, jobs)
        answers.update({index: row.completion() for index, row in rows.items()})
        return [answers[index] for index in range(len(jobs))]

    def _row(self, job: Job[Request, Completion], ids: Sequence[int]) -> Row:
        row = Row(job.question, ids, self.ends, decoder(self.tokenizer))
        row.cancelled = lambda: job.cancelled
        return row

    def _complete(self, rows: dict[int, Row], jobs: Sequence[Job[Request, Completion]]) -> None:
        """Run the model on rows, on half as many where the device's memory does not do."""
        import torch

        if not rows:
            return
        try:
            self._decoder.run(list(rows.values()))
        except torch.OutOfMemoryError as error:
            self._decoder.store.clear()
            if len(rows) == 1:
                raise PolicyError(f"A single row does not fit the device: {error}") from error
        except AgentEnvsError:
            raise
        except Exception as error:
            raise PolicyError(f"The model failed: {type(error).__name__}: {error}") from error
        else:
            return
        fresh = [(i, self._row(jobs[i], row.prompt_ids)) for i, row in rows.items()]
        half = len(fresh) // 2
        for part in (dict(fresh[:half]), dict(fresh[half:])):
            self._complete(part, jobs)
            rows.update(part)

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
            "context": self.context,
            "end_tokens": sorted(self.ends),
            "chat_template": hashlib.sha256(str(template).encode()).hexdigest()[:12]
            if template and self.form == "chat"
            else None,
            "ignored_defaults": ignored_defaults(self.model),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }

    async def close(self) -> None:
        """End the worker thread and drop kept states; the model stays, and may be used again."""
        self._batcher.close()
        self.forget()


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
    form: Form | None = None,
    max_batch: int = 16,
    context: int | None = None,
    threads: int | None = None,
    chat_template: str | None = None,
    prefix_gb: float = 2.0,
) -> HFPolicy:
    """Return the policy `hf:REST`.

    Args:
        rest: a folder, a hub name, or a `.gguf` file (needs the extra `gguf`).
        dtype: "auto" (the checkpoint's), "float32", "bfloat16" or "float16".
        device: a torch device, or "auto": the first GPU, else the CPU.
        revision: branch, tag or commit of a hub model.
        form: see `HFPolicy`.
        max_batch: see `HFPolicy`.
        context: see `HFPolicy`.
        threads: see `HFPolicy`.
        chat_template: see `HFPolicy`.
        prefix_gb: see `HFPolicy`.

    Raises:
        PolicyError: there is no such model, or a package is missing.
        BadArgument: an argument out of range.
    """
    model, tokenizer, name = load(rest, dtype=dtype, device=device, revision=revision)
    return HFPolicy(
        model,
        tokenizer,
        name=name,
        form=form,
        max_batch=max_batch,
        context=context,
        threads=threads,
        chat_template=chat_template,
        prefix_gb=prefix_gb,
    )
