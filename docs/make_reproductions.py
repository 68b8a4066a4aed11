"""Write docs/reproductions.md: the results kept in docs/reproduce, each with the account written beside it.

python docs/make_reproductions.py           # write the page
python docs/make_reproductions.py --check   # exit 1 if the page is not what it would write
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pinakes.reproduce import EXPERIMENTS
from pinakes.reproduce.writing import markdown

HERE = Path(__file__).parent
PAGE = HERE / "reproductions.md"
KEPT = HERE / "reproduce"
HEAD = """# Results of the reproductions

Made from the files in `docs/reproduce` by `docs/make_reproductions.py`; do not edit by hand. How to run these
experiments, and what is written, is told in [Reproduce the papers](reproduce.md).
"""


def page() -> str:
    """Give the text of docs/reproductions.md."""
    parts = [HEAD]
    for name in EXPERIMENTS:
        result, account = KEPT / f"{name}.json", KEPT / f"{name}.txt"
        if result.exists():
            whole = json.loads(result.read_text(encoding="utf-8"))
            parts.append(f"## {whole['title']}\n")
            if account.exists():
                parts.append(account.read_text(encoding="utf-8"))
            parts.append(markdown(whole, "reproduce/"))
    return "\n".join(parts)


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/reproductions.md is not up to date: run python docs/make_reproductions.py")


if __name__ == "__main__":
    main()
