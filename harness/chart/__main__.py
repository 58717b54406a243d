"""`python -m harness.chart`: writes the files of the chart whose sources have changed."""

from __future__ import annotations

from harness.chart import CHART, FILES


def main() -> None:
    for name, written in FILES.items():
        file, text = CHART / name, written()
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"written: {CHART.name}/{name}")


if __name__ == "__main__":
    main()
