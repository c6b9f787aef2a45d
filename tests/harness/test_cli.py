from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentenvs.harness import Outcomes, replay_sampler, terminal
from agentenvs.harness.cli import build_parser, main
from agentenvs.harness.commands import summarise
from agentenvs.harness.ptgs import PTGS, Ramp

VERBS = ["list", "data", "run", "play", "tax", "site"]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Return two small run folders."""
    folders = []
    for policy in ("wide", "narrow"):
        out = str(tmp_path / policy)
        command = ["run", "BFCLv4", "--tasks", "mini", "--policy", f"scripted:{policy}"]
        assert main([*command, "-n", "4", "--out", out, "--quiet"]) == 0
        folders.append(out)
    return folders[0], folders[1]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_helps(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_no_verb_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


def test_list_names_environments_task_sets_and_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    known = ("agentenvs/BFCLv4-v0", "miss_func", "mini", "scripted", "heat-matched")
    assert all(name in shown for name in known)


def test_list_prints_task_ids_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "BFCLv4", "--tasks", "mini"]) == 0
    shown = capsys.readouterr().out.split("\n")
    assert "mini_home_0" in shown
    assert len(shown) >= 25


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        (["list", "BFCLv5"], 2, "no environment 'BFCLv5'"),
        (["list", "BFCLv4", "--tasks", "bass"], 2, "Did you mean 'base'?"),
        (["list", "--tasks", "mini"], 2, "needs an environment"),
        (["data", "pull", "bfcx"], 2, "bfcl"),
        (["data", "import", "bfcl", "/nowhere.whl"], 1, "/nowhere.whl"),
        (["run", "BFCLv4", "--policy", "scripted:narow"], 2, "narrow"),
        (["run", "BFCLv4", "--tasks", "mini", "--policy", "wizard"], 2, "no policy 'wizard'"),
        (
            ["run", "BFCLv4", "--tasks", "mini", "--policy", "my:f"],
            2,
            "'callable:FILE.py:FUNCTION'",
        ),
        (
            ["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--examples", "9"],
            2,
            "0 to 4",
        ),
        (["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--top-p", "2"], 2, "top_p"),
        (["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--env", "dox=1"], 2, "dox"),
        (
            ["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--env", "rules=x"],
            2,
            "rules",
        ),
        (["run", "BFCLv4", "--policy", "random", "--policy-arg", "foo=1"], 2, "foo"),
        (["run", "BFCLv4", "--policy", "random", "--env", "decoding=official"], 2, "'relaxed'"),
        (["tax", "/nowhere", "/nowhere"], 1, "/nowhere"),
        (["run", "nowhere:Env-v0", "--policy", "random"], 2, "nowhere"),
        (
            ["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--out", "/proc/x"],
            1,
            "/proc",
        ),
        (["run", "BFCLv4", "--tasks", "mini", "--policy", "callable:no.py:f"], 1, "no.py"),
        (["run", "ToolLab", "--policy", "random", "--sampler", "ptgs:tua=2"], 2, "'tau'"),
        (["run", "ToolLab", "--policy", "random", "--sampler", "ptgs", "--group", "3"], 2, "n=9"),
        (["run", "ToolLab", "--policy", "random", "--group", "2"], 2, "without one"),
    ],
)
def test_errors_are_one_message_without_a_traceback(
    argv: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    captured = capsys.readouterr()
    assert text in captured.err
    assert captured.err.startswith("agentenvs: ")
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "BFCLv4", "--policy", "random", "-n", "0"],
        ["run", "BFCLv4", "--policy", "random", "--env", "docs"],
        ["run", "BFCLv4"],
        ["tax", "one"],
        ["tax", "a", "b", "--confidence", "95"],
    ],
)
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: agentenvs" in capsys.readouterr().err


def test_run_prints_a_summary(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    command = ["run", "BFCLv4", "--tasks", "mini", "--policy", "scripted:wide", "-n", "4"]
    assert main([*command, "--out", runs[0]]) == 0
    captured = capsys.readouterr()
    assert "pass@1: " in captured.out
    assert "pass@4 *: " in captured.out
    assert "95 % interval" in captured.out
    assert "scripted policy: these numbers describe the script, not a model" in captured.out
    assert "188 done before" in captured.err


def test_run_prints_a_mean_score_where_scores_are_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "WebShop", "--tasks", "mini/human/0", "--policy", "scripted:wide", "-n", "4"]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0
    scores = Outcomes.load(tmp_path / "run").column("score")
    assert 0.8 in scores
    assert f"mean score: {sum(scores) / 4:.4f}\n" in capsys.readouterr().out
    assert main(["run", "BFCLv4", "--tasks", "mini_home_0", "--policy", "scripted:wide"]) == 0
    assert "mean score" not in capsys.readouterr().out


def test_run_again_with_other_settings_is_refused(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "BFCLv4", "--tasks", "mini", "--policy", "scripted:wide", "-n", "4"]
    assert main([*command, "--out", runs[0], "--quiet", "--seed", "1"]) == 1
    assert "seed" in capsys.readouterr().err


def test_tax_table_and_json(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["tax", *runs]) == 0
    table = capsys.readouterr().out
    assert "SCRIPTED" in table
    assert "Tax_S" in table
    assert main(["tax", *runs, "--json", "-K", "2", "-K", "4"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))


def test_tax_refuses_k_beyond_n(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["tax", *runs, "-K", "5"]) == 2
    assert "5" in capsys.readouterr().err


def test_tax_of_pass_flags_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, flags in (("a", [True, False, False, True]), ("b", [False, False, True, True])):
        rows = [{"task_id": f"t{i}", "pass_flags": flags[i:] + flags[:i]} for i in range(4)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert main(["tax", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 0
    assert "SCRIPTED" not in capsys.readouterr().out


def test_data_list_and_verify(official_bfcl: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    assert "2026.3.23" in capsys.readouterr().out
    assert main(["data", "verify"]) == 0
    assert "bfcl: as pinned" in capsys.readouterr().out


def test_parser_knows_the_verbs() -> None:
    text = build_parser().format_help()
    assert all(verb in text for verb in VERBS)


def test_tax_on_the_tasks_that_both_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, tasks in (("a", range(6)), ("b", range(2, 8))):
        rows = [{"task_id": f"t{i}", "c": i % 4, "n": 4} for i in tasks]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    files = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert main(["tax", *files]) != 0
    assert "--common" in capsys.readouterr().err
    assert main(["tax", *files, "--common"]) == 0
    assert "4 tasks" in capsys.readouterr().out


def test_run_takes_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "ACEBench", "--tasks", "mini/agent_multi_turn_0", "--policy", "random"]
    for user, more in (("scripted", []), ("random", ["--user-arg", "words=0.9"])):
        out = str(tmp_path / user)
        assert main([*command, "--user", user, *more, "--out", out, "--quiet"]) == 0
    assert main(["run", "BFCLv4", "--tasks", "mini", "--policy", "random", "--user", "random"]) == 2
    assert "user" in capsys.readouterr().err


def test_run_takes_a_sampler_that_the_folder_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "ToolLab", "--tasks", "mini", "--policy", "scripted:wide", "--quiet"]
    command += ["-n", "4", "--out", str(tmp_path), "--seed", "3", "--group", "2"]
    assert main([*command, "--sampler", "ptgs:tau=1.4,target=0.25:0.5:2"]) == 0
    assert "sampler: step 2" in capsys.readouterr().out
    sampler = PTGS(1.4, target=Ramp(0.25, 0.5, 2), seed=3)
    outcomes = Outcomes.load(tmp_path)
    assert (replay_sampler(tmp_path, sampler).visits(outcomes.task_ids) == 2).all()
    assert main([*command, "--sampler", "ptgs:tau=1.5"]) == 1
    assert "sampler.tau: 1.4 -> 1.5" in capsys.readouterr().err


LINE = """
from pathlib import Path

from agentenvs.errors import InfrastructureFault


def act(request):
    mended = Path(__file__).with_name("mended").exists()
    if request.where.rollout == 1 and request.where.step == 0 and not mended:
        raise InfrastructureFault("busy", "http_503")
    return "I cannot."
"""


def test_a_run_with_open_rollouts_says_so_and_the_same_command_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "line.py").write_text(LINE)
    tasks = "mini_home_0,mini_home_1"
    out = str(tmp_path / "run")
    command = ["run", "BFCLv4", "--tasks", tasks, "--policy", f"callable:{tmp_path}/line.py:act"]
    command += ["--policy-arg", "request=true", "-n", "3", "--retries", "1", "--quiet"]
    assert main([*command, "--out", out]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "rollouts: 4 failure, 2 void" in told
    assert "0 of 4 rollouts on 2 tasks solved the least-played task has 2 of 3 rollouts, so" in told
    assert "pass@2 *: 0.0000 (95 % interval" in told
    assert "* high variance: K is more than half" in told
    assert "voids: 4 tries (4 http_503); 2 rollouts are still open; the same command tries" in told
    assert main(["tax", out, out]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for name in ("base", "post"):
        assert told.count(f"{name}: 4 of 6 rollouts played (0 not yet, 2 void); the same run") == 1
    for verb in ("tax", "report"):
        assert main([verb, out, out, "--json"]) == 0
        assert "(0 not yet, 2 void)" in capsys.readouterr().out
    (tmp_path / "mended").touch()
    assert main([*command, "--out", out]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "least-played" not in told
    assert "rollouts: 6 failure" in told
    assert "voids: 4 tries (4 http_503); every one was played again" in told
    assert main(["tax", out, out]) == 0
    assert "not yet" not in capsys.readouterr().out


REPLIES = """
from agentenvs.errors import InfrastructureFault
from agentenvs.harness import Completion


def act(request):
    if request.where.task == "mini_home_1":
        raise InfrastructureFault("busy", "http_503")
    if request.where.task == "mini_home_2":
        return Completion(finish_reason="context")
    if request.where.rollout:
        return Completion("[ls()]")
    return Completion("I cannot do", finish_reason="length")
"""


def test_a_run_says_what_is_in_no_number_why_rollouts_failed_and_which_replies_were_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "line.py").write_text(REPLIES)
    tasks = ",".join(f"mini_home_{task}" for task in range(3))
    command = ["run", "BFCLv4", "--tasks", tasks, "--policy", f"callable:{tmp_path}/line.py:act"]
    command += ["--policy-arg", "request=true", "--retries", "0", "--quiet", "-n", "2"]
    assert main([*command, "--max-tokens", "9", "--max-requests", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "1 of 3 tasks has no verdict and is in no number." in lines
    assert "failed: 1 multi_turn:empty_turn_model_response" in lines
    cut = "cut short, which counts as failed: 2 context_overflow (the conversation outgrew the "
    assert cut + "model), 1 max_requests (the run allowed no more replies)" in lines
    assert "1 of 3 replies was cut at 9 tokens" in lines


def test_many_reasons_are_summed_and_long_ones_cut(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"task_id": "a", "rollout": at, "success": False, "score": 0.0}
        | {"reason": f"{at % 7} [b]" + "x" * 90}
        for at in range(9)
    ]
    summarise(Outcomes(rows), terminal.console())
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("failed: ")]
    assert line.startswith(f"failed: 2 0 [b]{'x' * 52}..., 2 1 [b]x")
    assert line.endswith("..., 3 for 3 other reasons")
    summarise(Outcomes([{**rows[0], "success": True}]), terminal.console())
    told = capsys.readouterr().out
    assert "on 1 task solved" in told
    assert "failed" not in told


def test_list_cuts_no_name_and_leaves_no_blanks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("en/normal_single_turn_parallel_function  100 English" in line for line in lines)
    assert not [line for line in lines if line.endswith(" ") or len(line) > 80]


def test_a_run_without_any_verdict_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "line.py").write_text("def act(prompt):\n    raise TimeoutError('late')\n")
    command = ["run", "BFCLv4", "--tasks", "mini_home_0", "--quiet", "-n", "1", "--retries", "0"]
    assert main([*command, "--policy", f"callable:{tmp_path}/line.py:act"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "rollouts: 1 void" in told
    assert "voids: 1 try (1 timeout); 1 rollout is still open; with --out" in told
    assert "pass@1" not in told


def test_a_part_of_a_run_is_complete_in_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "BFCLv4", "--tasks", "mini_home_0", "--policy", "random", "-n", "4"]
    assert main([*command, "--rollouts", "2:4", "--out", str(tmp_path), "--quiet"]) == 0
    assert "still open" not in capsys.readouterr().out
    assert {row["rollout"] for row in Outcomes.load(tmp_path)} == {2, 3}
    with pytest.raises(SystemExit):
        main([*command, "--rollouts", "2"])
    assert "expected FIRST:AFTER, such as 0:32, got '2'" in capsys.readouterr().err
