/* What several pages are made of. */

import { h } from "./dom.js";
import { when } from "./times.js";

const numbers = new Intl.NumberFormat(undefined);

export const number = (value) => numbers.format(value);
export const counted = (value, one, many) => `${number(value)} ${value === 1 ? one : many}`;
export const placed = (namespace, name) => (namespace ? `${namespace}/${name}` : name);
export const address = (page, query) => {
  const given = Object.entries(query || {}).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given).toString();
  return text ? `#/${page}?${text}` : `#/${page}`;
};

/* A word becomes the beginning of a sentence; a name or an address stays as it is. */
export function sentence(text) {
  const begun = /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/* Commands stand between backticks in what the command line says too. */
export function spoken(text) {
  return text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : document.createTextNode(part)));
}

export function heading(text, lede) {
  return [h("h1", { tabindex: "-1" }, text), lede ? h("p", { class: "lede" }, spoken(lede)) : null];
}

export function section(title, { id, note } = {}, ...children) {
  return h(
    "section",
    { "data-key": `section-${id}`, "aria-labelledby": id },
    h("h2", { id }, title),
    note ? h("p", { class: "note" }, note) : null,
    ...children,
  );
}

export function command(text, { label = "Copy" } = {}) {
  return h(
    "span",
    { class: "command" },
    h("code", {}, text),
    h("button", { type: "button", "data-copy": text, "aria-label": `${label}: ${text}` }, label),
  );
}

export function empty(title, ...said) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), ...said.map((one) => h("p", {}, one)));
}

/* Roles are said once more: a narrow screen shows rows as blocks, and browsers then forget that they are a table. */
export function table(kind, caption, titles, rows) {
  const cell = (content, at) =>
    h("td", { role: "cell", "data-label": titles[at], class: titles[at] ? null : "bare" }, content);
  return h(
    "div",
    { class: `table of-${kind}` },
    h(
      "table",
      { role: "table", "aria-label": caption },
      h(
        "thead",
        { role: "rowgroup" },
        h("tr", { role: "row" }, titles.map((title) => h("th", { role: "columnheader", scope: "col" }, title))),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map(({ key, cells, tone }) => h("tr", { role: "row", "data-key": key, class: tone }, cells.map(cell))),
      ),
    ),
  );
}

export function sentences(list, kind = "why") {
  return list.map((text) => h("span", { class: `said ${kind}` }, text));
}

export function objectName(item, { here = false } = {}) {
  return h(
    "span",
    { class: "object" },
    h("span", { class: "kind" }, item.kind),
    " ",
    h("span", { class: "name" }, here ? item.name : placed(item.namespace, item.name)),
  );
}

/* `here`: its namespace stands above. */
export function objectLine(item, now, { here = false } = {}) {
  return h(
    "li",
    { "data-key": item.uid || `${item.kind}/${item.namespace}/${item.name}` },
    h("div", { class: "line" }, objectName(item, { here }), when(item.goesAt || item.due, now)),
    h("div", { class: "reasons" }, sentences(item.why), sentences(item.notes, "remark")),
  );
}
