/* What would have gone, or goes next; what is held and why. */

import { h } from "./dom.js";
import { address, command, counted, heading, number, objectLine, objectName, section, sentence, sentences, spoken } from "./parts.js";
import { when } from "./times.js";

const DUE = {
  observes: "Would have gone by now",
  acts: "Goes now",
  files: "Would go at once",
};

export const page = "overview";
export const title = (doc) => doc.standing.headline;
export const news = (doc) => doc.standing.headline;

export function view(doc) {
  const { counts } = doc;
  const any = counts.due + counts.later + counts.held;
  return [
    ...doc.announced.map((said, number) =>
      h("p", { class: "announced", role: "note", "data-key": `announced ${number}` }, sentence(said))),
    ...heading(doc.standing.headline, doc.standing.sentence),
    any ? figures(doc) : nothing(doc),
    doc.due.length ? due(doc) : null,
    doc.next.length ? coming(doc) : null,
    doc.holds.length ? held(doc) : null,
    doc.remarks.length ? remarks(doc) : null,
    doc.gaps.length || doc.warnings.length ? limits(doc) : null,
  ];
}

function figures(doc) {
  const { due: now, soon, later, held: kept } = doc.counts;
  const figure = (value, label, state) =>
    h(
      "div",
      { class: `figure ${state}` },
      h("dt", {}, label),
      h("dd", {}, value ? h("a", { href: address("objects", { state }) }, number(value)) : "0"),
    );
  return h(
    "dl",
    { class: "figures" },
    figure(now, (DUE[doc.standing.mode] || "Due now").toLowerCase(), "due"),
    figure(later, soon ? `to come, ${number(soon)} of them within a day` : "to come", "later"),
    figure(kept, "held", "held"),
  );
}

function nothing(doc) {
  if (!doc.complete) {
    return h(
      "div",
      { class: "empty" },
      h("p", { class: "empty-title" }, "What is to go is not all shown here."),
      h("p", {}, "Nothing that is shown is to go; there may be more that is."),
    );
  }
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "empty-title" }, "No label and no policy lets anything go."),
    h("p", {}, "An object that is to go by itself after a day is labelled like this:"),
    h("p", {}, command("kubectl label configmap NAME cleanup.kyverno.io/ttl=1d")),
    doc.namespace ? h("p", {}, `Only the namespace ${doc.namespace} is looked into.`) : null,
  );
}

function due(doc) {
  const places = new Map();
  for (const lot of doc.due) {
    if (!places.has(lot.namespace)) places.set(lot.namespace, []);
    places.get(lot.namespace).push(lot);
  }
  const more = doc.dueLots - doc.due.length;
  return section(
    DUE[doc.standing.mode] || "Due now",
    { id: "due", note: "By namespace, and by the label or policy that lets it go." },
    [...places].map(([namespace, lots]) => place(namespace, lots, doc.now)),
    more
      ? h(
          "p",
          { class: "more" },
          `And ${counted(more, "smaller group", "smaller groups")}: `,
          h("a", { href: address("objects", { state: "due" }) }, "all objects in one list"),
        )
      : null,
  );
}

function place(namespace, lots, now) {
  return h(
    "div",
    { class: "place-lots", "data-key": `place-${namespace}` },
    h("h3", {}, namespace || "In no namespace"),
    lots.map((lot, at) => lotOf(lot, now, at === 0 && lots.length === 1)),
  );
}

function lotOf(lot, now, open) {
  const rest = lot.count - lot.first.length;
  const all = address("objects", { state: "due", namespace: lot.namespace, rule: lot.rule });
  return h(
    "details",
    { class: "lot", "data-key": `${lot.mechanism} ${lot.rule}`, open },
    h(
      "summary",
      {},
      h("span", { class: "count" }, number(lot.count)),
      h("span", { class: "rule" }, lot.rule),
      when(lot.since, now, { before: lot.count > 1 ? "first" : "" }),
    ),
    h("ul", { class: "objects" }, lot.first.map((item) => objectLine(item, now, { here: true }))),
    rest ? h("p", { class: "more" }, h("a", { href: all }, `And ${number(rest)} more`)) : null,
  );
}

function coming(doc) {
  const more = doc.counts.later - doc.next.length;
  return section(
    "Comes next",
    { id: "next" },
    h("ul", { class: "objects flat" }, doc.next.map((item) => objectLine(item, doc.now))),
    more
      ? h("p", { class: "more" }, h("a", { href: address("objects", { state: "later" }) }, `And ${number(more)} more`))
      : null,
  );
}

function held(doc) {
  return section(
    "Stays, and why",
    { id: "held", note: "What lets it go is due or still to come; this stands against it." },
    h("ul", { class: "hold-lots" }, doc.holds.map(holdLot)),
  );
}

function holdLot(lot) {
  return h(
    "li",
    { "data-key": lot.code },
    h(
      "a",
      {
        class: "count",
        href: address("objects", { reason: lot.code }),
        "aria-label": counted(lot.count, "object is held so", "objects are held so"),
      },
      number(lot.count),
    ),
    h(
      "div",
      { class: "reasons" },
      lot.texts.map((one) =>
        h(
          "span",
          { class: "said hold" },
          one.text,
          lot.texts.length > 1 || lot.otherTexts ? h("span", { class: "times" }, ` ${number(one.count)}×`) : null,
        ),
      ),
      lot.otherTexts ? h("span", { class: "said remark" }, `and ${number(lot.otherTexts)} more like these`) : null,
    ),
  );
}

function remarks(doc) {
  const more = doc.remarksCount - doc.remarks.length;
  return section(
    "Nothing goes by these",
    { id: "remarks", note: "Labels that do not do what their writer meant." },
    h(
      "ul",
      { class: "objects flat" },
      doc.remarks.map((item) =>
        h(
          "li",
          { "data-key": item.uid || item.name },
          h("div", { class: "line" }, objectName(item)),
          h("div", { class: "reasons" }, sentences(item.notes, "hold")),
        ),
      ),
    ),
    more ? h("p", { class: "more" }, `And ${number(more)} more, which the command below names.`) : null,
  );
}

function limits(doc) {
  const reasons = new Map();
  for (const gap of doc.gaps) {
    if (!reasons.has(gap.why)) reasons.set(gap.why, []);
    reasons.get(gap.why).push(gap.what);
  }
  return section(
    "What is not known",
    { id: "limits" },
    h(
      "ul",
      { class: "plain" },
      [...reasons].map(([why, what]) =>
        h("li", {}, `Not read, so objects may be missing here: ${some(what)} (${why})`),
      ),
      doc.warnings.map((text) => h("li", {}, spoken(sentence(text)))),
    ),
  );
}

function some(what) {
  const first = what.slice(0, 12).join(", ");
  return what.length > 12 ? `${first} and ${number(what.length - 12)} more` : first;
}
