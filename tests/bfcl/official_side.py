"""Runs official code on jobs from stdin, in a process of its own; never imported by tests.

Usage: python official_side.py PATH_OF_THE_WHEEL < jobs.json > answers.json
Jobs: {"kind": "results" | "verdict" | "decode" | "prompt", ...}.
"""

from __future__ import annotations

import json
import sys
import types


def stub(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    nothing = lambda *args, **kwargs: None  # noqa: E731
    for name in ("java_parser", "js_parser"):
        long = "java" if name == "java_parser" else "javascript"
        stub(f"bfcl_eval.model_handler.parser.{name}", **{f"parse_{long}_function_call": nothing})
    stub("bfcl_eval.utils")
    retries = ("retry", "retry_if_exception_message", "retry_if_exception_type")
    stub("tenacity", wait_random_exponential=nothing, **dict.fromkeys(retries, nothing))
    from bfcl_eval.constants.default_prompts import DEFAULT_SYSTEM_PROMPT_FORMAT
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils
    from bfcl_eval.model_handler.utils import (
        default_decode_execute_prompting,
        formulate_system_prompt,
    )

    answers: list[object] = []
    for number, job in enumerate(json.load(sys.stdin)):
        if job["kind"] == "decode":
            try:
                answers.append(default_decode_execute_prompting(job["text"]))
            except Exception:
                answers.append(None)
        elif job["kind"] == "prompt":
            answers.append(formulate_system_prompt(DEFAULT_SYSTEM_PROMPT_FORMAT, job["docs"]))
        elif job["kind"] == "results":
            row = job["row"]
            answers.append(
                [
                    multi_turn_utils.execute_multi_turn_func_call(
                        step,
                        row["initial_config"],
                        row["involved_classes"],
                        f"model{number}",
                        row["id"],
                        long_context="long_context" in row["id"],
                    )[0]
                    for step in job["steps"]
                ]
            )
        else:
            verdict = multi_turn_checker.multi_turn_checker(
                job["turns"], job["gold"], job["row"], "", f"model{number}"
            )
            answers.append([verdict["valid"], verdict.get("error_type", "")])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
