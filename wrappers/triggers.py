"""Where reading may begin: patterns for every mark, label, bracket and line of a reply."""

# ruff: noqa: RUF001 - models write full-width marks

from __future__ import annotations

import re

from agentenvs.wrappers.marks import CALL_CLOSERS, CALL_OPENERS, ENDS, SILENT, THOUGHTS

__all__ = [
    "ACTION_LABEL",
    "CALL_JSON",
    "HEAD",
    "INLINE",
    "LINE",
    "LINE_END",
    "MARK_KINDS",
    "OWN_TURN",
    "THOUGHT_CLOSERS",
    "next_trigger",
]

THOUGHT_CLOSERS = {closer: opener for opener, closer in THOUGHTS.items()}
MARK_KINDS = {
    **dict.fromkeys(CALL_OPENERS, "opener"),
    **dict.fromkeys(CALL_CLOSERS, "closer"),
    **dict.fromkeys(THOUGHTS, "thought"),
    **dict.fromkeys(THOUGHT_CLOSERS, "unthought"),
    **dict.fromkeys(ENDS, "end"),
    **dict.fromkeys(SILENT, "silent"),
}
_MARKS = "|".join(
    re.escape(mark) + (r"(?=\s*\[)" if mark == "functools" else "")
    for mark in sorted(MARK_KINDS, key=len, reverse=True)
)
_STRIPPED_CHANNEL = r"(?:assistant)?(?:commentary|analysis)[ ]to=|assistantfinal"
_LABELS = (
    r"(?P<stop>Observations?|OBSERVATION|User|USER|Human|HUMAN|Environment"
    r"|(?:Tool|Function)[ _](?:Response|Result|Output|Message)s?|用户|观察)"
    r"|(?P<later>Question|Outputs?|Results?|Response|Instruction|Input|Tool|Function|System|Returns?"
    r"|observation|user|human|tool|system)"
    r"|(?P<act>Action(?:[ ]\d{1,3})?|ACTION)"
    r"|(?P<final>Final[ ]Answer)"
    r"|(?P<muse>Thoughts?|THOUGHT|Reasoning)"
    r"|(?P<self>Assistant|ASSISTANT|AI|Bot)"
)
#: with what a trigger inside a line can begin, or the end of a line that another follows;
#: spelt so that every branch begins with a character of its own, which is searched for fast
HEAD = re.compile(r"<|\[|\{|`(?=``)|✿|◁|\n(?=[^\S\n]*+\S)|functools|assistant|commentary|analysis")
INLINE = re.compile(
    rf"(?P<mark>{_MARKS})"
    rf"|(?P<channel><\|channel\|>|<\|start\|>|{_STRIPPED_CHANNEL})"
    r"|(?P<qwen>✿FUNCTION✿[ \t\r]*[:：])"
    r"|(?P<element><(?:[｜|]DSML[｜|]|antml:|minimax:|steptml:|seed:)?"
    r"(?:function|invoke|tool|tool_use|call|use_mcp_tool)(?=[=\s>]))"
    r"|(?P<fence>```)"
    r"|(?P<result>\[\s*\{\s*['\"]role['\"]\s*:\s*['\"](?:tool|user|system|function|ipython)['\"])"
    r"|(?P<json>\{)"
    r"|(?P<list>\[(?=\s*[^\W\d\s]|\s*[\[\]{\"'“(]))"
)
#: what can be meant only at the start of a line
LINE = re.compile(
    rf"[ \t\r]*[*_#>]{{0,4}}[ ]?(?P<label>{_LABELS})(?:[ ]\d{{1,3}})?[*_]{{0,2}}[ \t\r]?[:：]"
    r"[*_]{0,2}"
    r"|(?P<role>user|assistant|tool|system|model)[ \t\r]*(?=\n|\Z)"
    rf"|(?![ \t\r]*```|functools\s*\[|{_STRIPPED_CHANNEL})"
    r"(?P<line>[^\w\n\[{<]{0,12}(?:\d{1,3}[.):])?[^\w\n\[{<]{0,6}"
    r"[^\W\d][\w.\- =:：]{0,100}[*_`]{0,3}[ ]?[(（\[])"
)
OWN_TURN = re.compile(
    r"<\|im_start\|>assistant\n?|<\|start_header_id\|>assistant<\|end_header_id\|>\s*|"
    r"<start_of_turn>model\n?|<\|turn>model\n?|<\|assistant\|>|<｜Assistant｜>|\[/INST\]"
)
ACTION_LABEL = re.compile(r"\n[ \t\r]*[*_#>]{0,4}[ ]?(?:Action|ACTION|Final Answer|Observation)\b")
LINE_END = re.compile(r"\n|\Z")
CALL_JSON = re.compile(
    r"[\[{\s]*[\"'“]?(?:name|tool_calls|function|function_call|tool_name|tool|action|type)\b"
    r"[\"'”]?\s*:"
)


def next_trigger(text: str, at: int, *, begins: bool = False) -> re.Match[str] | None:
    """Return the first match of `INLINE`, or of `LINE` at the start of a line, from `at` on.

    Args:
        text: the reply.
        at: where to begin.
        begins: a line counts as begun at `at`.
    """
    if begins or at == 0 or text[at - 1] == "\n":
        match = LINE.match(text, at)
        if match is not None:
            return match
    while True:
        head = HEAD.search(text, at)
        if head is None:
            return None
        at = head.start()
        if text[at] == "\n":
            at += 1
            match = LINE.match(text, at)
        else:
            match = INLINE.match(text, at)
            at += 1
        if match is not None:
            return match
