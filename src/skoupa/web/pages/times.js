/* Times as people read them: how far away, in the words of the command line, with the exact one at hand. */

import { h } from "./dom.js";

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/* `in 3h`, `2d4h ago`: the two largest units, which is as exact as anybody reads. */
export function distance(moment, now) {
  const apart = Math.trunc(Math.abs(moment - now) / 1000);
  if (!apart) return "now";
  const text = span(apart);
  return moment > now ? `in ${text}` : `${text} ago`;
}

function span(seconds) {
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[first];
  const number = Math.trunc(seconds / size);
  const smaller = UNITS[first + 1];
  const rest = smaller ? Math.trunc((seconds % size) / smaller[1]) : 0;
  return rest && number < 10 ? `${number}${unit}${rest}${smaller[0]}` : `${number}${unit}`;
}

export function when(iso, now, { before = "" } = {}) {
  if (!iso) return null;
  const moment = new Date(iso);
  return h(
    "time",
    { datetime: iso, title: exact.format(moment) },
    before ? `${before} ` : "",
    distance(moment.getTime(), new Date(now).getTime()),
  );
}

export function dated(iso) {
  const moment = new Date(iso);
  return h("time", { datetime: iso, title: exact.format(moment) }, clock.format(moment));
}
