"""`python -m harness.reference`: writes the pages whose tables have changed."""

from __future__ import annotations

from pathlib import Path

from harness.reference import PAGES

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    for name, written in PAGES.items():
        page, text = DOCS / name, written()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        page.write_text(text, encoding="utf-8")
        print(f"written: docs/{name}")


if __name__ == "__main__":
    main()
