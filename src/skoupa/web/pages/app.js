/* The pages as one: which is shown, asking for it again and again, and what to say when there is no answer. */

import { ask, keepToken, Refusal, takeTokenFromAddress } from "./api.js";
import { h, update } from "./dom.js";
import { address, command, heading, sentence, spoken } from "./parts.js";
import { dated } from "./times.js";
import * as brakes from "./brakes.js";
import * as history from "./history.js";
import * as objects from "./objects.js";
import * as overview from "./overview.js";
import * as policies from "./policies.js";

const PAGES = { "": overview, objects, brakes, history, policies };
const SECONDS = 5;
const $ = (id) => document.getElementById(id);

let shown = null;
let timer = 0;
let asking = null;

function route() {
  const found = /^#\/([a-z]*)(?:\?(.*))?$/.exec(location.hash || "#/");
  if (!found || !(found[1] in PAGES)) return null;
  return { page: PAGES[found[1]], query: Object.fromEntries(new URLSearchParams(found[2] || "")) };
}

/* Of one address: what was last heard there stays until something newer is. */
function go({ moved }) {
  const next = route();
  if (!next) return;
  if (moved && next.page !== shown?.page) window.scrollTo(0, 0);
  shown = { ...next, doc: null, moved };
  mark(next.page);
  const here = shown;
  setTimeout(() => {
    // What is quick shows up without a word in between.
    if (here === shown && !here.doc && !here.refused) update($("main"), flat([heading("One moment")]));
  }, 400);
  void refresh();
}

async function refresh() {
  clearTimeout(timer);
  asking?.abort();
  asking = new AbortController();
  const here = shown;
  try {
    const doc = await ask(here.page.page, here.query, { signal: asking.signal });
    if (here !== shown) return;
    show(doc);
    timer = setTimeout(refresh, 1000 * (here.page.seconds || SECONDS));
  } catch (error) {
    if (error.name === "AbortError" || here !== shown) return;
    refuse(error);
    timer = setTimeout(refresh, 1000 * SECONDS);
  }
}

function show(doc) {
  const { page, query, moved } = shown;
  const before = shown.doc;
  shown.doc = doc;
  shown.moved = false;
  update($("main"), flat(page.view(doc, query)));
  document.title = `${page.title(doc, query)} · Skoupa`;
  tell(doc.trouble ? `This is not up to date: ${doc.trouble}.` : "");
  if (doc.place) {
    const where = doc.namespace ? `${doc.place}, namespace ${doc.namespace}` : doc.place;
    update($("place"), [document.createTextNode(where)]);
    $("place").hidden = false;
  }
  update($("same"), doc.command ? [document.createTextNode("The same on the command line "), command(doc.command)] : []);
  update($("asof"), [document.createTextNode("As of "), dated(doc.made || doc.now)]);
  const said = page.news(doc, query);
  if (!before ? moved : said !== page.news(before, query)) $("news").textContent = said;
  if (moved) $("main").querySelector("h1")?.focus({ preventScroll: true });
}

/* What was there stays readable; only where there is nothing yet the page itself says why. */
function refuse(error) {
  const known = error instanceof Refusal;
  shown.refused = true;
  const said = known ? error.message : "this page failed to show what it got";
  if (!known) console.error(error);
  if (error.code === 401) {
    shown.doc = null;
    tell("");
    update($("same"), []);
    update($("asof"), []);
    update($("main"), flat([heading("Who is asking?", sentence(said)), tokenForm()]));
    return;
  }
  if (shown.doc) {
    tell(`This is not up to date: ${said}${error.advice ? `; ${error.advice}` : ""}.`);
    return;
  }
  tell("");
  update($("same"), []);
  update($("asof"), []);
  const reading = error.reason === "Reading";
  const title = reading ? "One moment" : error.code === 403 ? "You may not see this" : "This can’t be shown";
  const filters = shown.page === history && Object.keys(shown.query).length && error.code === 400 ? history.form(shown.query) : null;
  update(
    $("main"),
    flat([
      heading(title, sentence(said)),
      filters,
      error.advice ? h("p", { class: "advice" }, "What to do: ", spoken(`${error.advice}.`)) : null,
      h("p", { class: "note" }, "This page asks again by itself."),
    ]),
  );
  document.title = `${title} · Skoupa`;
  $("news").textContent = `${title}: ${said}`;
}

function tokenForm() {
  return h(
    "form",
    { class: "token", "data-form": "token" },
    h(
      "label",
      {},
      h("span", {}, "Token"),
      h("input", { name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false" }),
    ),
    h("button", { type: "submit" }, "Look"),
    h("p", { class: "note" }, "It is kept for this tab alone, and forgotten when you close it."),
  );
}

function tell(text) {
  update($("trouble"), flat([spoken(text)]));
  $("trouble").hidden = !text;
}

function mark(page) {
  for (const link of document.querySelectorAll("nav [data-page]")) {
    if (link.dataset.page === page.page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

const flat = (parts) => parts.flat(Infinity).filter((part) => part instanceof Node);

async function copy(button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    // Without a clipboard it can still be marked and copied by hand.
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Marked";
  }
  button.setAttribute("data-done", "");
  setTimeout(() => {
    button.textContent = label;
    button.removeAttribute("data-done");
  }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) void copy(button);
  if (event.target.closest(".skip")) {
    event.preventDefault();
    $("main").focus();
  }
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = [...new FormData(event.target)].filter(([, value]) => value.trim());
  if (event.target.dataset.form === "token") {
    keepToken(given[0]?.[1] || "");
    go({ moved: true });
  } else {
    const next = address(event.target.dataset.form, Object.fromEntries(given));
    if (location.hash === next) void refresh();
    else location.hash = next;
  }
});

window.addEventListener("hashchange", () => {
  takeTokenFromAddress();
  go({ moved: true });
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (shown) void refresh();
});

takeTokenFromAddress();
go({ moved: false });
