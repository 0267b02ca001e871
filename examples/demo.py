"""One persistent session, fragment by fragment, its templates answered on this machine.

Run it with `make demo`, or directly after `kedi model install`. Pass the name of another adapter,
such as `pydantic`, to let that answer. It exits with 1 when no model can be asked or when something
is not as it should be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from textwrap import indent
from typing import Any

import kedi
from kedi.errors import KediError, KediExecutionError, KediModelError

STEPS: tuple[tuple[str, str], ...] = (
    (
        "A value, a type and procedures. They stay for all later fragments.",
        """
[shop] = Corner Books

~Contact(name, age: int, city)

@greeting(contact: Contact) -> str:
  = Dear <`contact.name`>, greetings from <shop>!

@share(total: float, people: int) -> float:
  = `total / people`
""",
    ),
    (
        "Between backticks stands Python: this returns a native object, not its text.",
        """
[ada: Contact] = `Contact("Ada", 36, "London")`
= `(greeting(ada), share(ada.age, 8))`
""",
    ),
    (
        "A template: one model call that fills the blank.",
        """
[country] = Japan
>> The capital of <country> is [capital].
= <capital>
""",
    ),
    (
        "Typed blanks come back as Python values.",
        """
>> The order number in 'Your order 48213 was shipped on Monday.' is [order: int].
= `order + 1`
""",
    ),
    (
        "A blank of the type defined in the first fragment, given to the procedure from there.",
        """
>> From the text 'Maria Lopez is 34 years old and lives in Madrid.' extract [customer: Contact].
= <greeting(<customer>)>
""",
    ),
    (
        "A template inside a procedure, called once for each item.",
        """
@mail_in(text) -> Email:
  >> The email address in the text '<text>' is [mail: Email].
  = `mail`

[notes: list[str]] = ```
return [
    "Please write to Jane Doe at jane.doe@example.org before Friday.",
    "Tom reads tom@example.net every day.",
]
```
[mails: list[str]] = `[]`
> loop [note]: `notes`:
  [mail] = <mail_in(<note>)>
  `mails.append(mail)`
= `mails`
""",
    ),
    (
        "A raw call: the whole answer as text.",
        """
[slogan] << Write one short sentence about books.
= <slogan>
""",
    ),
    (
        "A failure. The trace names fragments and lines; the session goes on.",
        """
[guests: int] = `0`
= Each pays <share(`90.0`, <guests>)>
""",
    ),
    (
        "Everything from before the failure is still there.",
        """
= <shop> writes to <`customer.name`> in <`customer.city`> about order <order>.
""",
    ),
)
FAILING = 8


def main(arguments: Sequence[str]) -> int:
    """Run the steps and print what they show; the exit status."""
    adapter = arguments[0] if arguments else "local"
    began = time.perf_counter()
    print(f"Kedi {kedi.__version__}: fragments in one session, answered by `{adapter}`\n")
    try:
        session = kedi.interactive(adapter=adapter)
    except KediError as error:
        print(error, file=sys.stderr)
        return 1
    with session:
        for number, (title, source) in enumerate(STEPS, 1):
            print(f"{number}. {title}\n")
            print(indent(source.strip(), "     "))
            try:
                value = session.execute(source.strip())
            except KediModelError as error:
                print(f"\nthe model could not be asked:\n{error}", file=sys.stderr)
                return 1
            except KediExecutionError as error:
                print("\n" + indent(str(error), "   ! ") + "\n")
                if number != FAILING:
                    return 1
            else:
                print(f"\n   → {value!r}\n" if value is not None else "")
                if number == FAILING:
                    print("this step was meant to fail", file=sys.stderr)
                    return 1
        report(session, time.perf_counter() - began)
    return 0


def report(session: kedi.InteractiveSession, seconds: float) -> None:
    """Print the model calls of a session, and a summary."""
    print("Model calls:\n")
    print("   place                    tokens in  out  seconds  answer")
    tokens = 0
    for call in session.calls:
        record = call.record
        usage = record.usage
        tokens += (usage.total_tokens or 0) if usage else 0
        place = f"{call.span.source_name}, line {call.span.line}"
        print(
            f"   {place:<24} {number(usage and usage.input_tokens):>9}"
            f" {number(usage and usage.output_tokens):>4} {record.latency:>8.2f}"
            f"  {record.text or dict(record.values)}"
        )
    if session.config.agents.adapter == "local":
        print("\nThis model is a very small one: its answers have the right types, not more.")
    failed = sum(fragment.state == "failed" for fragment in session.fragments)
    print(
        f"\ndone: {len(session.fragments)} fragments ({failed} failed, as intended), "
        f"{len(session.calls)} model calls, {tokens} tokens, {seconds:.1f} seconds"
    )


def number(value: Any) -> str:
    """A count as text; adapters may not know it."""
    return "?" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
