/* What went, failed, or was braked; and the command that brings it back. */

import { h } from "./dom.js";
import { address, command, counted, empty, heading, objectName, sentence, sentences, spoken, table } from "./parts.js";
import { when } from "./times.js";

const STEP = 100;
const MOST = 1000;
const OUTCOMES = [
  ["deleted", "deleted"],
  ["terminating", "deleted, not gone yet"],
  ["would-delete", "would have been deleted"],
  ["braked", "held by a Brake"],
  ["failed", "could not be deleted"],
  ["gone", "was gone already"],
  ["intended", "begun"],
  ["still-there", "interrupted, still there"],
  ["gone-by-unknown", "interrupted, gone since"],
];
const WORDS = Object.fromEntries(OUTCOMES);
const TRASH = { kept: "", partly: "partly in the trash", purged: "purged from the trash", forgotten: "no longer in the trash", none: "" };
const BAD = ["failed", "gone-by-unknown"];

export const page = "history";
export const title = () => "History";
export const news = (doc) => counted(doc.items.length, "decision is shown", "decisions are shown");
export const seconds = 10;

export function view(doc, query) {
  return [
    ...heading("History", "What Skoupa deleted, or would have, the newest first."),
    form(query),
    doc.notes.map((text) => h("p", { class: "note" }, spoken(sentence(text)))),
    doc.items.length ? list(doc, query) : nothing(query),
  ];
}

/* Also shown while an answer is awaited or refused: a filter that was not understood is mended here. */
export function form(query) {
  const text = (name, label, hint) =>
    h(
      "label",
      {},
      h("span", {}, label),
      h("input", { name, value: query[name] || "", placeholder: hint, autocomplete: "off", spellcheck: "false" }),
    );
  return h(
    "form",
    { class: "filters", role: "search", "aria-label": "Filters", "data-form": "history", "data-key": `filters ${JSON.stringify(query)}` },
    text("object", "Kind or object", "deploy/web"),
    text("namespace", "Namespace", "all"),
    text("since", "Since", "7d"),
    text("until", "Until", "now"),
    text("rule", "Policy or label", "old-pods"),
    text("run", "Run", ""),
    h(
      "label",
      {},
      h("span", {}, "Outcome"),
      h(
        "select",
        { name: "outcome" },
        h("option", { value: "" }, "any"),
        OUTCOMES.map(([value, label]) => h("option", { value, selected: query.outcome === value }, label)),
      ),
    ),
    h("div", { class: "buttons" }, h("button", { type: "submit" }, "Show"), h("a", { href: "#/history" }, "Clear")),
  );
}

function list(doc, query) {
  const shown = doc.items.length;
  return [
    table("history", "Decisions", ["When", "Outcome", "Object", "Why"], doc.items.map((entry) => row(entry, doc.now))),
    doc.more
      ? h(
          "p",
          { class: "more", "data-key": "more" },
          shown < MOST
            ? h("a", { href: address("history", { ...query, limit: shown + STEP }) }, `Show ${STEP} older ones`)
            : "There are older ones: filters, or the command below, show them.",
        )
      : null,
  ];
}

function row(entry, now) {
  const restored = entry.restoredAs ? "came back" : TRASH[entry.trash];
  return {
    key: entry.id,
    tone: BAD.includes(entry.outcome) ? "bad" : "",
    cells: [
      when(entry.at, now),
      h("span", { class: `outcome ${entry.outcome}` }, WORDS[entry.outcome] || entry.outcome),
      [
        objectName(entry),
        entry.run ? h("span", { class: "said remark" }, `run ${entry.run}`) : null,
        entry.restore ? h("div", {}, command(entry.restore)) : null,
        restored ? h("span", { class: "said remark" }, restored) : null,
      ],
      [
        sentences(entry.why),
        sentences(entry.holds, "hold"),
        entry.error ? sentences([entry.error], "hold") : null,
        entry.author ? sentences([`the rule was written by ${entry.author}`], "remark") : null,
      ],
    ],
  };
}

function nothing(query) {
  return Object.keys(query).length
    ? empty("Nothing is written down that fits.", "Widen the filters, or clear them.")
    : empty("Nothing is written down yet.", "What Skoupa deletes, or would delete while it observes, appears here.");
}
