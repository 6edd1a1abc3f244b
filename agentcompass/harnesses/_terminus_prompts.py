"""What terminus2 says to the model."""

from typing import Literal

from agentcompass.harnesses._terminus_reply import Parsed

Format = Literal["json", "xml"]

_JSON = """\
Every reply of yours is one JSON object and nothing else:

{
  "analysis": "what the terminal shows, what is done, what is left",
  "plan": "what the commands below are to do, and what you expect of them",
  "commands": [
    {"keystrokes": "ls -la\\n", "duration": 0.1}
  ],
  "task_complete": false
}

analysis, plan and commands are required, in this order; task_complete may be left out."""

_XML = """\
Every reply of yours is one response in these tags and nothing else:

<response>
<analysis>what the terminal shows, what is done, what is left</analysis>
<plan>what the commands below are to do, and what you expect of them</plan>
<commands>
<keystrokes duration="0.1">ls -la
</keystrokes>
</commands>
<task_complete>false</task_complete>
</response>

analysis, plan and commands are required, in this order; task_complete may be left out. What \
stands between <keystrokes> tags is typed exactly as it is: line ends count, and nothing is \
decoded, so write < and & as themselves."""

_INITIAL = """\
You work at a Linux terminal to get a task done. You see what the terminal shows, and you reply \
with keystrokes, which are typed into it as they are.

{form}

How it works:

- Keystrokes are typed exactly as given. End a shell command with a newline, or it is not run. \
C-c, C-d, Enter, Escape, Up or another key's name as tmux has it, alone in its keystrokes, presses \
that key.
- After each command, `duration` seconds pass before the next one is typed, at most 60. Give short \
ones to what is done at once (0.1 for cd, ls or echo), and what they need to compilers, tests and \
downloads. Wait again, with empty keystrokes, rather than wait too long.
- An empty list of commands only looks at the terminal again.
- The commands share one terminal: folder, variables and programs stay as you leave them.
- When the task is done, reply with task_complete true. You are asked once more before it counts.

The task:

{task}

{screen}"""

_CONFIRM = """\
{screen}

You have said that the task is complete. Once you say so again, your work is graded as it is and \
you can change nothing more. If it is, reply with task_complete true once more; if anything is \
left, go on."""

_FAULTY = """\
Your last reply could not be read, and nothing of it was executed.
{notes}

Reply again, in the form that you were given."""

_CUT = """\
Your last reply was cut off at the model's limit of output tokens, and nothing of it was executed.
Reply again with less: fewer commands at a time, and long files in several parts."""

SUMMARY = """\
This conversation has to go on without what was said so far. Write down all that is needed to \
finish the task: what has been done and what came of it, which files and programs there are now, \
what was tried and failed, what is left. Give names, paths, commands and values exactly."""

_QUESTIONS = """\
You take over a task at a Linux terminal from a colleague.

The task:

{task}

What your colleague has noted:

{summary}

{screen}

Before you go on, ask your colleague at least five questions about what you need to know and what \
the notes leave open. Write nothing but the questions."""

_ANSWERS = """\
A colleague goes on with the task and knows no more than your notes. Answer these questions in \
full:

{questions}"""

_HANDED_OVER = """\
Here are the answers:

{answers}

Now go on with the task yourself, in the form that you were given.

{screen}"""

_SHORT = """\
The conversation about this task has become too long and was dropped. The task:

{task}

The end of what the terminal shows:

{tail}

Write in a few sentences what has probably been done, and what to look at next."""

_RESUMED = """\
What was said so far is gone; notes about it:

{summary}

Go on with the task, in the form that you were given.

{screen}"""


def initial(form: Format, task: str, screen: str) -> str:
    """The first message."""
    return _INITIAL.format(form={"json": _JSON, "xml": _XML}[form], task=task, screen=screen)


def confirm(screen: str) -> str:
    """The question whether the task is really complete."""
    return _CONFIRM.format(screen=screen)


def faulty(parsed: Parsed) -> str:
    """The answer to a reply that cannot be read."""
    notes = [f"ERROR: {parsed.error}", *(f"WARNING: {text}" for text in parsed.warnings)]
    return _FAULTY.format(notes="\n".join(notes))


def cut_off() -> str:
    """The answer to a reply that ran into the limit of output tokens."""
    return _CUT


def observed(parsed: Parsed, screen: str) -> str:
    """What came of a reply, below what was odd about it."""
    if not parsed.warnings:
        return screen
    notes = "\n".join(f"WARNING: {text}" for text in parsed.warnings)
    return f"Your last reply had faults, and was executed all the same:\n{notes}\n\n{screen}"


def questions(task: str, summary: str, screen: str) -> str:
    """To a model that takes over."""
    return _QUESTIONS.format(task=task, summary=summary, screen=screen)


def answers(asked: str) -> str:
    """To the model that hands over."""
    return _ANSWERS.format(questions=asked)


def handed_over(answered: str, screen: str) -> str:
    """The message with which the work goes on."""
    return _HANDED_OVER.format(answers=answered, screen=screen)


def short(task: str, tail: str) -> str:
    """To a model that knows nothing but the task and the end of the screen."""
    return _SHORT.format(task=task, tail=tail)


def resumed(summary: str, screen: str) -> str:
    """The message with which the work goes on after that."""
    return _RESUMED.format(summary=summary or "there are none", screen=screen)
