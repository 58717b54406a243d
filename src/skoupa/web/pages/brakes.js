/* What stands still, why, since when, and the command that lets it go on. */

import { h } from "./dom.js";
import { command, counted, heading, sentence, spoken } from "./parts.js";
import { when } from "./times.js";

const STATES = { holds: "holds", waits: "waits for its time", over: "is over", "is released": "is being released" };

export const page = "brakes";
export const title = (doc) => headline(doc);
export const news = (doc) => headline(doc);

export function view(doc) {
  return [
    ...heading(headline(doc), doc.unknown ? "" : "A Brake holds its part of the cluster until somebody releases it; everything else goes on."),
    doc.unknown ? doubt(doc) : null,
    doc.notes.map((text) => h("p", { class: "note" }, spoken(sentence(text)))),
    doc.items.length ? h("ul", { class: "cards" }, doc.items.map((brake) => card(brake, doc.now))) : null,
    doc.pause
      ? h(
          "section",
          { "aria-labelledby": "stop", "data-key": "stop" },
          h("h2", { id: "stop" }, "To stop everything at once"),
          h("p", {}, command(doc.pause)),
        )
      : null,
  ];
}

function headline(doc) {
  const holding = doc.items.filter((brake) => brake.holds).length;
  if (doc.allHeld) return "Everything stands still";
  if (holding) return counted(holding, "Brake holds", "Brakes hold");
  return doc.unknown ? "What stands still is not known" : "Nothing stands still";
}

/* That there is no Brake to be seen is not that nothing is held. */
function doubt(doc) {
  const said = doc.allHeld ? "Nothing goes until it is known which Brakes there are" : "It is not known which Brakes there are";
  return h("p", { class: "doubt", "data-key": "doubt" }, spoken(sentence(`${said}: ${doc.unknown}`)));
}

function card(brake, now) {
  return h(
    "li",
    { class: brake.holds ? "card holds" : "card", "data-key": brake.name },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, brake.name),
      h("span", { class: "state" }, STATES[brake.state] || brake.state),
    ),
    brake.reason ? h("p", { class: "reason" }, brake.reason) : null,
    brake.remarks.map((text) => h("p", { class: "said hold" }, text)),
    h(
      "dl",
      { class: "facts" },
      fact("Scope", h("code", {}, brake.scope)),
      fact("Holds", brake.held === null ? "not counted yet" : counted(brake.held, "object", "objects")),
      brake.since ? fact("Since", when(brake.since, now)) : null,
      brake.until ? fact("Until", when(brake.until, now)) : null,
    ),
    brake.release
      ? h("p", { class: "act" }, h("span", { class: "act-label" }, "To release it"), command(brake.release))
      : null,
  );
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}
