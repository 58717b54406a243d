"""The dashboard in a real browser: what it shows, that it stays true without a reload, and that it is for everybody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import expect

from skoupa.ledger.rows import Result
from skoupa.ledger.store import Finish, Intent
from tests.browser.conftest import Window
from tests.browser.scenes import ADMIN, ANNA, HOUR, TTL, Scene, open_scene
from tests.unit.ledger.entries import entry

pytestmark = pytest.mark.browser

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"


async def went(scene: Scene, name: str, *, error: str = "") -> str:
    """Something that was deleted an hour ago; its id."""
    made = entry(
        name=name,
        namespace="shop",
        kind="ConfigMap",
        resource="configmaps",
        api_version="v1",
        at=scene.clock.now() - HOUR,
    )
    await scene.store.write([Intent(entry=made)])
    outcome: Result = "failed" if error else "deleted"
    await scene.store.write(
        [Finish(uid=made.uid, epoch=made.epoch, outcome=outcome, at=made.at + 1, error=error)]
    )
    return made.id


async def test_the_controllers_own_page_shows_what_would_have_gone_and_goes_on_doing_so(
    window: Window, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as scene:
        scene.make("later", "2h")
        page = await window.open(scene.desk)
        await expect(page.locator("h1")).to_have_text("Who is asking?")
        await page.get_by_label("Token").fill(ADMIN)
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        await expect(page.locator(".lede")).to_contain_text("only observes")
        due = page.get_by_role("region", name="Would have gone by now")
        await expect(due).to_contain_text(f"{TTL}=10m")
        await expect(due).to_contain_text("old-1")
        await expect(page.get_by_role("region", name="Comes next")).to_contain_text("later")
        # What stays as it is is not drawn anew: what somebody closed stays closed.
        await page.evaluate("window.neverReloaded = true")
        await page.locator("summary").first.click()
        scene.clock.ahead = 1.5 * HOUR
        await expect(page.locator("h1")).to_have_text("4 objects would have gone by now")
        await expect(due).to_contain_text(f"{TTL}=2h")
        assert await page.evaluate("window.neverReloaded") is True
        assert await page.locator("details.lot").first.evaluate("lot => lot.open") is False
        await expect(page.locator("#news")).to_have_text("4 objects would have gone by now")
        # The history of an observing controller has them too.
        await page.get_by_role("link", name="History").click()
        await expect(page.locator("tbody tr").first).to_contain_text("would have been deleted")
        assert [said for said in window.complaints if "401" not in said] == []


async def test_it_shows_each_what_they_may_read(window: Window, tmp_path: Path) -> None:
    async with open_scene(tmp_path, objects=2) as scene:
        scene.make("login", "10m", kind="Secret")
        scene.make("elsewhere", "10m", namespace="lab")
        page = await window.open(f"{scene.desk}/#token={ANNA}")
        await expect(page.locator("h1")).to_have_text("2 objects would have gone by now")
        await expect(page.get_by_role("region", name="What is not known")).to_contain_text(
            "2 objects are not shown: you may not read them"
        )
        assert "login" not in await page.content()
        await page.goto(f"{scene.desk}/#/brakes")
        await expect(page.locator("h1")).to_have_text("You may not see this")
        await expect(page.locator(".lede")).to_contain_text("You, anna, may not get brakes.skoupa.dev")


async def test_a_dashboard_of_ones_own_shows_brakes_history_and_what_to_type(
    window: Window, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as scene, scene.dashboard() as address:
        scene.brake("audit", "the auditors are here", scope={"namespace": "lab"})
        gone = await went(scene, "gone")
        page = await window.open(address)
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        # The secret is in nobody's history, and a reload needs none.
        assert "token" not in page.url
        await page.reload()
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        await expect(page.locator("#same")).to_contain_text("skoupa plan -A")
        await page.get_by_role("link", name="Brakes").click()
        await expect(page.locator("h1")).to_have_text("1 Brake holds")
        card = page.locator(".card")
        await expect(card).to_contain_text("the auditors are here")
        await expect(card).to_contain_text("ns/lab")
        await expect(card).to_contain_text("3 objects")
        await expect(card.locator("code").last).to_have_text("skoupa brakes release audit")
        await expect(page.locator(".card time")).to_have_attribute("title", re.compile("20[0-9]{2}"))
        await page.get_by_role("link", name="History").click()
        await page.get_by_label("Outcome").select_option("deleted")
        await page.get_by_label("Kind or object").fill("cm/gone")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("tbody tr")).to_have_count(1)
        await expect(page.locator("tbody tr")).to_contain_text("gone")
        await expect(page.locator("#same")).to_contain_text("skoupa history cm/gone -A --outcome deleted")
        assert gone
        await page.get_by_role("textbox", name="Since").fill("last christmas")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("main")).to_contain_text("What to do: write 7d (ago)")
        await page.get_by_role("textbox", name="Since").fill("")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("tbody tr")).to_have_count(1)


async def test_what_others_wrote_is_text_and_never_markup(window: Window, tmp_path: Path) -> None:
    async with open_scene(tmp_path, objects=1) as scene, scene.dashboard() as address:
        scene.brake("audit", MARKUP, scope={"namespace": "lab"})
        scene.make("odd", MARKUP)
        await went(scene, "gone", error=MARKUP)
        page = await window.open(address)
        await expect(page.locator("h1")).to_have_text("1 object would have gone by now")
        await expect(page.get_by_role("region", name="Nothing goes by these")).to_contain_text(MARKUP)
        await page.get_by_role("link", name="Brakes").click()
        await expect(page.locator(".reason")).to_have_text(MARKUP)
        await page.get_by_role("link", name="History").click()
        await expect(page.locator("tbody")).to_contain_text(MARKUP)
        assert await page.locator("main script, main img").count() == 0
        assert window.complaints == []
        # Nor could a mistake of the page make it so.
        refused = await page.evaluate(
            "() => { try { document.body.innerHTML = '<p>'; return ''; } catch (error) { return error.name; } }"
        )
        assert refused == "TypeError"


async def test_ten_thousand_objects_are_a_short_page_and_lists_that_go_on(
    window: Window, tmp_path: Path
) -> None:
    async with open_scene(tmp_path, objects=10_000) as scene:
        page = await window.open(f"{scene.desk}/#token={ADMIN}")
        await expect(page.locator("h1")).to_have_text("10,000 objects would have gone by now")
        assert await page.locator("main *").count() < 500
        await page.get_by_role("link", name="And 9,995 more").click()
        await expect(page.locator("h1")).to_have_text("10,000 objects due")
        await expect(page.locator("tbody tr")).to_have_count(100)
        await page.get_by_role("link", name="Later").click()
        await expect(page.locator(".pages")).to_contain_text("101 to 200 of 10,000")
        await page.locator(".commands summary").first.click()
        await expect(page.locator(".commands[open] code").first).to_have_text(
            re.compile(r"^skoupa explain configmap/shop/old-\d+$")
        )


async def test_a_server_that_ends_is_told_and_one_that_comes_back_is_asked_again(
    window: Window, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as scene:
        async with scene.dashboard() as address:
            page = await window.open(address)
            await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        await expect(page.locator("#trouble")).to_contain_text("nobody answers at this address any more")
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        scene.make("one-more", "1m")
        async with scene.dashboard(port=int(address.split(":")[2].split("/")[0])):
            await expect(page.locator("h1")).to_have_text("4 objects would have gone by now")
            await expect(page.locator("#trouble")).to_be_hidden()


async def test_what_can_be_no_token_is_told_beside_the_form_that_asks_for_one(
    window: Window, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as scene:
        page = await window.open(scene.desk)
        await page.get_by_label("Token").fill("“gefälscht”")
        await page.get_by_role("button", name="Look").click()
        await expect(page.locator("main")).to_contain_text("it has characters that no token has")
        await page.get_by_label("Token").fill(ADMIN)
        await page.get_by_role("button", name="Look").click()
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_for_keyboards_and_screen_readers_too(
    window: Window, tmp_path: Path, scheme: str
) -> None:
    width = 1200 if scheme == "light" else 390
    async with open_scene(tmp_path) as scene, scene.dashboard() as address:
        scene.brake("audit", "the auditors are here", scope={"namespace": "lab"})
        scene.make("kept", "10m", **{"skoupa.dev/keep": "true"})
        scene.make("odd", "1 day")
        await went(scene, "gone")
        page = await window.open(
            address, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
        )
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        await page.keyboard.press("Tab")
        await expect(page.locator(":focus")).to_have_text("Skip to the content")
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.locator("summary").first.focus()
        await page.keyboard.press("Space")
        pages = {
            "Brakes": "brakes",
            "History": "history",
            "Policies": "policies",
            "": "objects",
            "Overview": "",
        }
        for name, path in pages.items():
            await page.evaluate("path => { location.hash = `#/${path}`; }", path)
            await expect(page.locator("h1")).to_be_focused()
            if name:
                await expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute(
                    "aria-current", "page"
                )
            found = await Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            # Nothing sticks out at the side of a telephone.
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_page_without_brakes_does_not_say_that_nothing_stands_still_where_everything_does(
    window: Window, tmp_path: Path, scheme: str
) -> None:
    async with open_scene(tmp_path) as scene, scene.dashboard() as address:
        scene.brake("audit", "the auditors are here", scope={"namespace": "lab"})
        view = {"color_scheme": scheme, "viewport": {"width": 1200, "height": 900}, "bypass_csp": True}
        page = await window.open(f"{scene.desk}/#token={ADMIN}", **view)
        own = await window.open(address, **view)
        for one in (page, own):
            await one.get_by_role("link", name="Brakes").click()
            await expect(one.locator("h1")).to_have_text("1 Brake holds")
        await scene.take_away_the_kind_of_brakes()
        await expect(page.locator("h1")).to_have_text("Everything stands still")
        await expect(page.locator(".doubt")).to_contain_text(
            "Nothing goes until it is known which Brakes there are"
        )
        await expect(page.locator(".doubt")).to_contain_text("bring it back with skoupa install")
        # What it knows of them all the same, with nothing to type that could not work.
        await expect(page.locator(".card")).to_contain_text("the auditors are here")
        await expect(page.locator(".card")).to_contain_text("nobody has released it")
        await expect(page.locator(".card .act")).to_have_count(0)
        await expect(page.get_by_text("To stop everything at once")).to_have_count(0)
        # From outside nobody can tell: an observer writes nothing down.
        await expect(own.locator("h1")).to_have_text("What stands still is not known")
        await expect(own.locator(".doubt")).to_contain_text("this cluster has no kind brakes.skoupa.dev")
        for one in (page, own):
            found = await Axe().run(one)
            assert found.violations_count == 0, found.generate_report()
        await page.get_by_role("link", name="Overview").click()
        await expect(page.locator("h1")).to_have_text("3 objects are overdue and held")


async def test_what_the_controller_can_not_read_is_on_its_page(window: Window, tmp_path: Path) -> None:
    async with open_scene(tmp_path, unread="secrets") as scene:
        page = await window.open(f"{scene.desk}/#token={ADMIN}")
        await expect(page.locator("h1")).to_have_text("3 objects would have gone by now")
        limits = page.get_by_role("region", name="What is not known")
        await expect(limits).to_contain_text("Not read, so objects may be missing here: secrets")
        await expect(page.locator("#asof time")).to_have_attribute("title", re.compile("20[0-9]{2}"))
