/* The policies of the cluster: when they ran and run next, what they would do, what is wrong with them. */

import { h } from "./dom.js";
import { address, command, counted, heading, number, sentence, spoken } from "./parts.js";
import { dated, when } from "./times.js";

export const page = "policies";
export const title = (doc) => headline(doc);
export const news = (doc) => headline(doc);

export function view(doc) {
  return [
    ...heading(headline(doc), "Each chooses what goes, at its times or all the time; what holds an object holds it here too."),
    doc.notes.map((text) => h("p", { class: "note" }, spoken(sentence(text)))),
    doc.items.length ? h("ul", { class: "cards" }, doc.items.map((policy) => card(policy, doc.now))) : nothing(doc),
  ];
}

function headline(doc) {
  return doc.items.length ? counted(doc.items.length, "policy", "policies") : "No policies";
}

function nothing(doc) {
  if (doc.notes.length) return null;
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "empty-title" }, "No policy chooses anything in this cluster."),
    h("p", {}, "What one would delete is shown before it is applied:"),
    h("p", {}, command("skoupa plan -f policy.yaml")),
  );
}

function card(policy, now) {
  const called = [policy.kind, policy.namespace, policy.name].filter(Boolean).join("/");
  return h(
    "li",
    { class: policy.problems.length ? "card holds" : "card", "data-key": called },
    h("div", { class: "card-head" }, h("h2", {}, policy.name), h("span", { class: "state" }, standing(policy))),
    h("p", { class: "note" }, policy.kind, policy.namespace ? ` in ${policy.namespace}` : ""),
    policy.problems.map((text) => h("p", { class: "said hold" }, text)),
    policy.wouldBrake.map((text) => h("p", { class: "said hold" }, `A Brake would stop ${policy.retained ? "what goes by it within an hour" : "the whole run"}: ${text}`)),
    policy.cautions.map((text) => h("p", { class: "said remark" }, text)),
    policy.retained ? retained(policy.retained, now) : h(
      "dl",
      { class: "facts" },
      policy.words || policy.schedule ? fact("Runs", policy.words || policy.schedule) : null,
      fact("Last run", policy.lastRun ? last(policy.lastRun, now) : "none is known"),
      policy.nextRun ? fact("Next run", when(policy.nextRun, now)) : null,
      policy.ahead ? fact("Matches", ahead(policy, called)) : null,
      policy.observedUntil ? fact("Only reports until", dated(policy.observedUntil)) : null,
    ),
  );
}

/* One without a schedule: what it is about goes when its time is over. */
function retained(about, now) {
  const told = [
    [about.waiting, "wait for their time"],
    [about.held, "stay"],
  ].filter(([value]) => value);
  const counts = told.map(([value, word]) => `${number(value)} ${word}`).join(", ");
  return [
    about.told ? h("p", { class: "said remark" }, spoken(sentence(about.told))) : null,
    h(
      "dl",
      { class: "facts" },
      about.says ? fact("Time after", about.says) : null,
      fact("Is about", counted(about.matched, "object", "objects"), counts ? `: ${counts}` : ""),
      about.deleted === null ? null : fact("Deleted", number(about.deleted)),
      about.nextTime ? fact("Next", when(about.nextTime, now)) : null,
    ),
  ];
}

function standing(policy) {
  if (policy.retained && policy.problems.length) return "has problems";
  if (policy.problems.length && !policy.nextRun) return "does not run";
  if (policy.suspended) return "suspended";
  return policy.observedUntil ? "only reports" : policy.problems.length ? "has problems" : "";
}

function last(run, now) {
  const told = [
    [run.deleted, "deleted"],
    [run.held, "held"],
    [run.failed, "failed"],
  ].filter(([value]) => value);
  const counts = told.map(([value, word]) => `${number(value)} ${word}`).join(", ");
  return [when(run.at, now), counts ? `: ${counts}` : ""];
}

function ahead(policy, called) {
  const told = [
    [policy.wouldGo, "would go"],
    [policy.held, "held"],
    [policy.unclear, "unclear"],
  ].filter(([value]) => value);
  const counts = told.map(([value, word]) => `${number(value)} ${word}`).join(", ");
  const matched = counted(policy.matched, "object", "objects");
  return [
    policy.matched ? h("a", { href: address("objects", { policy: called }) }, matched) : matched,
    counts ? `: ${counts}` : "",
  ];
}

function fact(name, ...value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
}
