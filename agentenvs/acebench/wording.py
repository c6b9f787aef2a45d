"""What this project tells a model in each category, in both languages: wording of our own.

The original's prompts stand in its code and are not repeated here; `prompts=` takes them, or
any others. The three sentences of the special categories begin as its checker wants them.
"""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from agentenvs.acebench.replay import END
from agentenvs.acebench.special import BEYOND, MISSING, WRONG_VALUE

__all__ = ["WORDS", "Words"]


class Words(NamedTuple):
    """The texts of one language.

    Attributes:
        system: system prompts by kind, with `{policy}` and `{functions}`.
        policy: the part that states rules and facts, without the form of a reply, by kind.
        history: what goes before a transcript, with `{history}`.
        phone: rules of the phone services, for an agent with a user.
        airline: rules of the airline, for an agent with a user.
    """

    system: Mapping[str, str]
    policy: Mapping[str, str]
    history: str
    phone: str
    airline: str


_EN_FORM = """\
Reply with one list of calls in square brackets and with nothing else, every argument by name, \
for example:
[first_function(name='value', count=3), second_function(options={'key': ['a', 'b']})]"""
_EN_NORMAL = """\
- Use only the functions on offer and only their parameters; a function may be called several times.
- Give every required parameter. Give another one where the conversation says something about it, \
and leave it out otherwise.
- Take values from the conversation, in the user's own words, whole and in the type that the \
function asks for."""
_EN = Words(
    system={
        "normal": f"""\
You are an assistant with functions. Read the conversation and make the calls that the user's last \
message asks for. In a transcript, "user" is the user and "system" is you.

{_EN_FORM}

{{policy}}

Functions:
{{functions}}""",
        "special": """\
You are an assistant with functions. Read the conversation and decide what the user's last message \
allows. In a transcript, "user" is the user and "system" is you.

Where it can be carried out, reply with one list of calls and with nothing else, for example \
[function(name='value', count=3)]. Where it cannot, reply with one sentence and with nothing else.

{policy}

Functions:
{functions}""",
        "agent_multi_step": """\
You are an agent that carries out a task with functions, one step after the other. Each of your \
messages is one list of calls in square brackets, every argument by name, for example \
[function(name='value', count=3)]; the results come next.

{policy}

Functions:
{functions}""",
        "agent_multi_turn": """\
You are an agent that helps a user with functions. Each of your messages is either one list of \
calls in square brackets, every argument by name, for example [function(name='value', count=3)], \
or words to the user, never both. The results of calls come next, and the user does not see them.

{policy}

Functions:
{functions}""",
    },
    policy={
        "normal": f"{_EN_NORMAL}\n{{time}}",
        "preference": f"""\
{_EN_NORMAL}
- Where the conversation does not say, take what is known of the user:
{{profile}}""",
        "special": f"""\
- If a value that the user gives breaks what its parameter demands, reply: \
{WRONG_VALUE} (the value) for the parameters (its name).
- If the request fits a function but the user leaves out parameters that it needs, reply: \
{MISSING} (their names) for the api (the function).
- If no function on offer can do what is asked, reply: Due to {BEYOND}, this cannot be done.
- If several of these fit, the first one counts.
{{time}}""",
        "agent_multi_step": f"""\
- Nobody answers questions: what you need stands in the task or can be found with the functions.
- Take one step at a time and look at its result before the next one.
- When everything is done, or cannot be done, reply: {END}""",
        "agent_multi_turn": f"""\
- Ask the user for whatever you need and were not told, and never make values up.
- Do what was asked for and nothing else; take one step at a time.
- When the user wants nothing more, reply: {END}
{{domain}}""",
    },
    history="Conversation so far:\n{history}",
    phone="""\
- It is 2024-06-11 16:00.
- Turn the Wi-Fi on or log in to the device only when a function says that it needs it.
- When a message or a reminder that you have read asks for something, ask the user whether to do it.
- The inbox has room for a few messages. When it is full, ask the user which one to delete.
- An order goes to one merchant; the account that pays has to be logged in first.""",
    airline="""\
- It is 2024-07-15 08:00.
- Before you book, change or cancel, tell the user the details and wait for a yes.
- Ask for the user id and the password, and for the cabin, the bags and how to pay.
- Some bags are free, by membership and cabin; each one more costs 50.
- A cancelled flight is paid back whole where the airline is the reason or it departs in more than \
a day, else less a fee.""",
)

_ZH_NORMAL = """\
- 只使用所给的函数及其参数；同一个函数可以调用多次。
- 必填参数都要给出；其他参数只在对话提到相关内容时给出，否则省略。
- 参数的值取自对话，保留用户原来的说法，内容完整，类型符合函数的要求。"""
_ZH = Words(
    system={
        "normal": """\
你是一个可以调用函数的助手。请阅读对话，针对用户的最后一条消息给出所需的函数调用。\
对话记录中，user是用户，system是你。

只用方括号回复一个调用列表，不要写其他内容，每个参数都写出名称，例如：
[first_function(name='value', count=3), second_function(options={'key': ['a', 'b']})]

{policy}

函数：
{functions}""",
        "special": """\
你是一个可以调用函数的助手。请阅读对话，判断用户的最后一条消息能否照办。\
对话记录中，user是用户，system是你。

能照办时，只回复一个调用列表，例如[function(name='value', count=3)]；不能照办时，只回复一句话。

{policy}

函数：
{functions}""",
        "agent_multi_step": """\
你是一个用函数一步一步完成任务的智能体。你的每条消息是一个方括号中的调用列表，每个参数都写出名称，\
例如[function(name='value', count=3)]；随后会给出结果。

{policy}

函数：
{functions}""",
        "agent_multi_turn": """\
你是一个用函数帮助用户的智能体。你的每条消息要么是一个方括号中的调用列表，每个参数都写出名称，\
例如[function(name='value', count=3)]，要么是对用户说的话，两者不能同时出现。\
调用之后会给出结果，用户看不到这些结果。

{policy}

函数：
{functions}""",
    },
    policy={
        "normal": f"{_ZH_NORMAL}\n{{time}}",
        "preference": f"""\
{_ZH_NORMAL}
- 对话没有说明的，取自已知的用户信息：
{{profile}}""",
        "special": f"""\
- 如果用户给出的某个值不符合参数的要求，请用英文回复：\
{WRONG_VALUE} (该值) for the parameters (参数名).
- 如果请求与某个函数相符，但用户没有给出它需要的参数，请用英文回复：\
{MISSING} (参数名) for the api (函数名).
- 如果所给的函数都无法完成请求，请用英文回复：Due to {BEYOND}, this cannot be done.
- 如果同时符合几种情况，以排在前面的为准。
{{time}}""",
        "agent_multi_step": f"""\
- 没有人回答你的问题：需要的信息都在任务中，或者可以用函数查到。
- 一次只做一步，看到结果后再做下一步。
- 全部完成或无法完成时，请回复：{END}""",
        "agent_multi_turn": f"""\
- 需要而用户没有说明的信息，请询问用户，不要编造。
- 只做用户要求的事，一次只做一步。
- 用户没有其他需要时，请回复：{END}
{{domain}}""",
    },
    history="目前的对话：\n{history}",
    phone="""\
- 现在是2024-06-11 16:00。
- 只有在函数提示需要时，才打开WiFi或登录设备。
- 读到的短信或提醒中如果有要做的事，先问用户是否要办。
- 收件箱只能存放几条短信；存满时，问用户删除哪一条。
- 一个订单只向一家商家下单；付款的账户要先登录。""",
    airline="""\
- 现在是2024-07-15 08:00。
- 预订、修改或取消之前，先把细节告诉用户，得到同意后再办理。
- 请询问用户的编号和密码，以及舱位、行李件数和付款方式。
- 按会员等级和舱位可免费携带若干件行李，超出的每件50元。
- 因航空公司原因取消，或起飞时间在一天以后的，全额退款；否则扣除手续费。""",
)

#: the texts by language
WORDS: Mapping[str, Words] = MappingProxyType({"en": _EN, "zh": _ZH})
