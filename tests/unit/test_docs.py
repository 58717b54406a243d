"""The documentation is complete, current, and says nothing that can't be followed."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.reference import PAGES
from harness.reference.commands import command_group
from harness.reference.labels import HONOURED, OF_THE_INSTALLATION, ON_A_POLICY, every_name, reserved
from harness.reference.pages import every_error
from skoupa import settings
from skoupa.cli import exits
from skoupa.expr.durations import render_duration
from skoupa.expr.golang import kyverno_reading
from skoupa.expr.readings import After, At, Problem, due_time
from skoupa.expr.ttl import kyverno_ttl, parse_ttl, refreshed_at
from skoupa.expr.usage_functions import USAGE_FUNCTIONS
from skoupa.model.reasons import REASONS
from skoupa.report.metrics import METRICS
from skoupa.report.reporter import EVENT_REASONS

pytestmark = pytest.mark.unit

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
SOURCES = REPOSITORY / "src" / "skoupa"
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def tracked() -> list[Path]:
    """Every text file that is, or is about to be, part of the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return [REPOSITORY / name for name in listed.split("\0") if name and (REPOSITORY / name).is_file()]


def markdown() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def code_lines(page: str) -> Iterator[str]:
    """Lines of indented and fenced code, without what follows a # that begins a comment."""
    for block in _FENCE.findall(page):
        yield from block.splitlines()[1:-1]
    for line in _FENCE.sub("", page).splitlines():
        if line.startswith("    ") and not line.lstrip().startswith(("-", "|")):
            yield line.strip()


def commands(page: str, program: str) -> Iterator[list[str]]:
    """What stands after the program wherever a line of code starts it, pipes and chains taken apart."""
    for line in code_lines(page):
        bare = re.sub(r"(^|\s)#.*$", "", line)
        for part in re.split(r"\|\|?|&&|;", bare):
            try:
                words = shlex.split(part)
            except ValueError:
                continue
            if words[:2] == ["kubectl", program]:
                words = words[1:]
            if words and words[0].rpartition("/")[2] == program:
                yield words[1:]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert text(name) == PAGES[name](), "run `python -m harness.reference`"


def test_every_setting_is_in_the_docs() -> None:
    page = text("settings.md")
    for setting in settings.every_setting():
        assert f"| `{setting.key}` |" in page
        assert setting.variable in page
        assert setting.about, f"{setting.key} has no description"


@pytest.mark.parametrize(("section", "guide"), [("ledger", "history.md"), ("trash", "restore.md")])
def test_the_guide_to_history_and_trash_explains_all_their_settings(section: str, guide: str) -> None:
    keys = [one.key for one in settings.every_setting() if one.key.startswith(f"{section}.")]
    assert keys
    assert [key for key in keys if key not in text(guide)] == []


def test_what_a_power_cut_may_take_is_said_where_the_promise_is() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for page in (readme, text("history.md"), text("restore.md"), text("install.md")):
        assert "power cut" in page


def test_the_guide_names_every_place_that_tells_what_would_have_gone() -> None:
    observing = text("ttl.md").partition("## Observing and enforcing")[2].partition("\n\n")[2]
    said = observing.partition("\n\n")[0]
    for place in ("the log", "metrics.md", "history.md", "dashboard.md", "notices.md", "`plan`"):
        assert place in said


def test_every_metric_event_and_reason_is_in_the_docs() -> None:
    for name in METRICS:
        assert f"| `{name}` |" in text("metrics.md")
    for name in EVENT_REASONS:
        assert f"| `{name}` |" in text("events.md")
    for name in REASONS:
        assert f"| `{name}` |" in text("reasons.md")


def test_every_exit_code_is_in_the_docs() -> None:
    codes = {value for name, value in vars(exits).items() if name.isupper()}
    codes |= {error.exit_code for error in every_error()}
    for code in codes:
        assert f"\n| {code} | " in text("exit-codes.md")


def test_every_command_is_in_the_docs() -> None:
    page = text("commands.md")
    for name, command in command_group().commands.items():
        called = f"Also called `skoupa {name}`." if command.hidden else f"\n## skoupa {name}\n"
        assert called in page


def used_names() -> set[str]:
    """Constants of `skoupa.names` that the code looks at or writes."""
    found: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        if path != SOURCES / "names.py":
            found.update(re.findall(r"\bnames\.([A-Z_]+)", path.read_text(encoding="utf-8")))
    return found


def test_every_label_and_annotation_that_is_honoured_is_described() -> None:
    used = used_names()
    for constant, key in every_name().items():
        if constant.endswith("_FINALIZER"):
            continue
        if constant in used:
            assert key in {**HONOURED, **OF_THE_INSTALLATION, **ON_A_POLICY}, (
                f"{constant} is used: describe it in harness/reference/labels.py"
            )
        else:
            assert key in reserved(), f"{constant} is used nowhere: it is reserved"


def test_every_finalizer_of_ours_is_reserved_until_it_is_set() -> None:
    used = used_names()
    page = text("labels.md")
    for constant in ("EXTERNAL_CLEANUP_FINALIZER", "AWS_EXTERNAL_GC_FINALIZER"):
        assert constant not in used, "the docs say that Skoupa sets no such finalizer"
        assert every_name()[constant] in page


def test_every_name_is_in_the_docs_and_so_is_every_key_of_ours_in_the_code() -> None:
    page = text("labels.md")
    literal = re.compile(r"skoupa\.dev/([a-z][a-z-]*[a-z])\b(?!alpha)")
    composed = re.compile(r"SKOUPA_GROUP\}/([a-z][a-z-]*[a-z])\b")
    for path in SOURCES.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for key in {*literal.findall(source), *composed.findall(source)}:
            assert f"`skoupa.dev/{key}`" in page, f"{path.name} has skoupa.dev/{key}"


@pytest.mark.parametrize("path", markdown(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    page = _FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in _LINK.findall(page):
        if "://" in target or target.startswith(("mailto:", "#")):
            continue
        assert (path.parent / target.partition("#")[0]).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", markdown(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_commands_in_code_blocks_exist_with_their_options(path: Path) -> None:
    known = command_group().commands
    for words in commands(path.read_text(encoding="utf-8"), "skoupa"):
        shown = " ".join(["skoupa", *words])
        if not words or words[0] == "--help":
            continue
        assert words[0] in known, f"{shown}: there is no such command"
        command = known[words[0]]
        below = getattr(command, "commands", {})
        if len(words) > 1 and words[1] in below:
            command = below[words[1]]
        options = {name for param in command.params for name in param.opts} | {"--help"}
        for word in words[1:]:
            if re.match(r"--?[a-zA-Z]", word):
                assert word.partition("=")[0] in options, f"{shown}: {word} is no option of it"


@pytest.mark.parametrize("path", markdown(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_make_targets_in_code_blocks_exist(path: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in commands(path.read_text(encoding="utf-8"), "make"):
        for word in words:
            assert "=" in word or word in targets, f"make {word}"


def by_hand() -> list[Path]:
    return [path for path in markdown() if path.name not in PAGES]


@pytest.mark.parametrize("path", by_hand(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_settings_metrics_and_events_that_a_page_names_exist(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    keys = {setting.key for setting in settings.every_setting()}
    sections = {key.partition(".")[0] for key in keys if "." in key}
    for section, rest in re.findall(r"`([a-z]+)\.([a-zA-Z]+)\b", page):
        if section in sections and path.name != "architecture.md":
            assert f"{section}.{rest}" in keys, f"{path.name} names the setting {section}.{rest}"
    for metric in re.findall(r"`(skoupa_[a-z_]+)`", page):
        known = metric in METRICS or metric in USAGE_FUNCTIONS
        assert known, f"{path.name} names the metric or function {metric}"
    for event in re.findall(r"`(Skoupa[A-Z][a-zA-Z]+)`", page):
        assert event in EVENT_REASONS, f"{path.name} names the Event {event}"


def rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading, without code marks."""
    _, _, after = page.partition(f"\n## {heading}\n")
    found: list[list[str]] = []
    for line in after.splitlines():
        if line.startswith("|"):
            found.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
        elif found:
            break
    return found[2:]


def test_values_in_the_guide_are_read_as_it_says() -> None:
    advice = rows(text("ttl.md"), "Values that are not understood")
    assert len(advice) >= 5
    for value, instead in advice:
        problem = parse_ttl(value)
        assert isinstance(problem, Problem)
        assert problem.suggestion == instead
    for value in re.findall(r"ttl=(\S+)", text("ttl.md").replace("`", " ").replace(")", " ")):
        assert not isinstance(parse_ttl(value), Problem), value


def test_differing_values_are_read_as_the_page_says() -> None:
    differing = rows(text("differences.md"), "Values")
    assert len(differing) >= 10
    for value, kyverno, instead in differing:
        reading = kyverno_reading(value)
        assert isinstance(reading, After), value
        assert render_duration(reading.seconds) == kyverno
        problem = parse_ttl(value)
        assert isinstance(problem, Problem), value
        assert problem.suggestion in {instead, ""}


_ENDS = {
    "106751d23h47m16s": (After, After),
    "106752d": (Problem, Problem),
    "15251w": (Problem, Problem),
    "2562048h": (Problem, Problem),
    "2500-01-01": (At, At),
    "9999-12-31T235959Z": (At, At),
    "1969-12-31": (Problem, At),
    "0206-09-30": (Problem, At),
    "1970-01-01": (At, At),
    "500ms": (Problem, After),
    "1.5s": (Problem, After),
    "2026-08-04T003000.5Z": (Problem, At),
    "1s": (After, After),
    "2s": (After, After),
    "2026-08-04T003001Z": (At, At),
}


def test_the_ends_of_the_scale_are_as_the_page_says() -> None:
    section = text("differences.md").partition("## The ends of the scale")[2].partition("\n## ")[0]
    named = {word for word in re.findall(r"`([^`]+)`", section) if word[0].isdecimal()}
    assert named == _ENDS.keys()
    for value, readings in _ENDS.items():
        assert (type(parse_ttl(value)), type(kyverno_ttl(value))) == readings, value
    for value, rounded in (("500ms", "1s"), ("1.5s", "2s"), ("2026-08-04T003000.5Z", "2026-08-04T003001Z")):
        loose, strict = kyverno_ttl(value), parse_ttl(rounded)
        assert not isinstance(loose, Problem)
        assert not isinstance(strict, Problem)
        assert due_time(loose, since=0) == due_time(strict, since=0)
    long_ago = kyverno_ttl("1969-12-31")
    assert isinstance(long_ago, At)
    assert long_ago.epoch_seconds == 0
    assert long_ago.warnings
    assert refreshed_at("2026-08-04T00:30:00.5Z") == refreshed_at("2026-08-04T00:30:01Z")


def test_the_checks_find_what_they_look_for() -> None:
    """A check that finds nothing would pass for ever."""
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert ["plan", "-A", "--within", "6h"] in list(commands(readme, "skoupa"))
    assert ["demo"] in list(commands(readme, "make"))
    assert used_names() >= {"TTL_LABEL", "KEEP_LABEL"}
    assert DOCS / "settings.md" in markdown()


_NO_PLACE_FOR = {
    "a path of somebody's machine": re.compile(r"(?<![\w.-])/(?:work|root|home/\w+|Users/\w+)/\w"),
    "the address of a package or image registry": re.compile(
        r"pypi\.org|pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org|registry\.npmjs\.org"
        r"|(?:docker|quay|ghcr|gcr)\.io/|registry\.k8s\.io|\bmcr\.microsoft"
    ),
}


@pytest.mark.parametrize("what", _NO_PLACE_FOR)
def test_no_file_has_anything_that_is_true_on_one_machine_only(what: str) -> None:
    for path in tracked():
        try:
            source = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = _NO_PLACE_FOR[what].search(source)
        assert found is None, f"{path.relative_to(REPOSITORY)} has {what}: {found and found[0]}"


def test_every_function_of_our_own_is_in_the_chapter_about_them() -> None:
    chapter = (DOCS / "policies.md").read_text(encoding="utf-8").split("## Who uses it")[1].split("\n## ")[0]
    assert not [name for name in USAGE_FUNCTIONS if f"| `{name}(object)` |" not in chapter]
