/* The objects behind a number of the first page. */

import { h } from "./dom.js";
import { address, command, counted, empty, heading, number, objectName, sentence, sentences, spoken, table } from "./parts.js";
import { when } from "./times.js";

const SIZE = 100;
const TITLES = { due: "due", later: "to come", held: "held" };

export const page = "objects";
export const title = (doc, query) => about(doc, query);
export const news = (doc, query) => about(doc, query);

export function view(doc, query) {
  return [
    h("p", { class: "back" }, h("a", { href: "#/" }, "Overview")),
    ...heading(about(doc, query), narrowed(query)),
    doc.items.length
      ? table(
          "objects",
          about(doc, query),
          [query.state === "due" ? "Due" : "Goes", "Object", "Why", "To type"],
          doc.items.map((item) => row(item, doc.now)),
        )
      : empty(
          doc.notes.length ? "None are shown." : "There are none.",
          doc.notes.length ? "There may be some among those that are left out." : "What was here has gone, or is not to go any more.",
        ),
    doc.notes.map((text) => h("p", { class: "note" }, spoken(sentence(text)))),
    pages(doc, query),
  ];
}

function about(doc, query) {
  const objects = counted(doc.total, "object", "objects");
  const more = TITLES[query.state] || (query.reason ? "held" : "");
  return more ? `${objects} ${more}` : objects;
}

function narrowed(query) {
  const parts = [];
  if (query.namespace) parts.push(`in the namespace ${query.namespace}`);
  if (query.namespace === "") parts.push("in no namespace");
  if (query.rule) parts.push(`by ${query.rule}`);
  if (query.policy) parts.push(`that ${query.policy} matches`);
  if (query.reason) parts.push(`for the reason ${query.reason}`);
  return parts.length ? `Only those ${parts.join(", ")}.` : "";
}

function row(item, now) {
  return {
    key: item.uid || `${item.kind} ${item.namespace} ${item.name}`,
    tone: item.state,
    cells: [
      item.goesAt ? when(item.goesAt, now) : h("span", {}, "stays; due ", when(item.due, now)),
      objectName(item),
      [
        sentences(item.why),
        item.holds.map((hold) =>
          h("span", { class: "said hold" }, `held: ${hold.text}`, hold.until ? when(hold.until, now, { before: ", until" }) : null),
        ),
        sentences(item.notes, "remark"),
      ],
      item.commands.length
        ? h(
            "details",
            { class: "commands", "data-key": "commands" },
            h("summary", { "aria-label": `Commands for ${item.name}` }, "Commands"),
            h("div", { class: "drawer" }, item.commands.map((text) => h("p", {}, command(text)))),
          )
        : null,
    ],
  };
}

function pages(doc, query) {
  if (doc.total <= SIZE && !doc.offset) return null;
  const to = (offset) => address("objects", { ...query, offset: offset || undefined });
  const last = Math.min(doc.offset + SIZE, doc.total);
  return h(
    "nav",
    { class: "pages", "aria-label": "More of them" },
    doc.offset ? h("a", { href: to(Math.max(doc.offset - SIZE, 0)), rel: "prev" }, "Earlier") : null,
    h("span", {}, `${number(doc.offset + 1)} to ${number(last)} of ${number(doc.total)}`),
    last < doc.total ? h("a", { href: to(doc.offset + SIZE), rel: "next" }, "Later") : null,
  );
}
