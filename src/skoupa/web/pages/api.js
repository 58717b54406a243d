/* Questions to whoever serves this page, with the token that lets in.

The token came behind the # of the address, or was typed. It is kept for this tab alone, and goes nowhere but into a header. */

const TOKEN = "skoupa-token";
const HEADER = "Skoupa-Authorization";

export class Refusal extends Error {
  constructor({ code, reason, message, advice }) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.advice = advice;
  }
}

export function takeTokenFromAddress() {
  const found = /^#token=([^&]+)$/.exec(location.hash);
  if (!found) return;
  keepToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", "#/");
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token.trim());
}

export async function ask(page, query, { signal } = {}) {
  const address = new URL(`api/v1alpha1/board/${page}`, document.baseURI);
  address.search = new URLSearchParams(query).toString();
  address.hash = "";
  const token = sessionStorage.getItem(TOKEN);
  if (token && !/^[\x21-\x7e]+$/.test(token)) {
    // No header takes it, so nobody could be asked.
    throw new Refusal({ code: 401, reason: "Unauthorized", message: "that is no token: it has characters that no token has", advice: "" });
  }
  let answer;
  try {
    answer = await fetch(address, {
      headers: token ? { [HEADER]: `Bearer ${token}` } : {},
      cache: "no-store",
      credentials: "same-origin",
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({
      code: 0,
      reason: "Silent",
      message: "nobody answers at this address any more",
      advice: "start `skoupa dashboard` again and open the address that it prints, or see whether the controller runs; this page asks on by itself",
    });
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body) return body;
  throw new Refusal({
    code: answer.status,
    reason: body?.reason || "Unknown",
    message: body?.message || `the answer was ${answer.status} ${answer.statusText}`.trim(),
    advice: body?.details?.advice || "",
  });
}
