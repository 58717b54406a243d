/* Elements made from values, and a page brought up to date in place.

Everything that comes from outside becomes text: there is no way from here to markup. Updating in place keeps the focus, what is
open, what is selected and where the reader is. */

export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(node, child);
    else if (child === null || child === undefined || child === false || child === "") continue;
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/* What a reader changes belongs to the reader. */
const THEIRS = { DETAILS: ["open"], INPUT: ["value"], OPTION: ["selected"], BUTTON: ["data-done"] };

export function update(target, fresh) {
  const wanted = [...fresh];
  const known = new Map();
  for (const child of target.children) {
    if (child.dataset.key) known.set(child.dataset.key, child);
  }
  let at = target.firstChild;
  for (const next of wanted) {
    const key = next.nodeType === Node.ELEMENT_NODE ? next.dataset.key : undefined;
    let old = key ? known.get(key) : at;
    if (!key && old && old.nodeType === Node.ELEMENT_NODE && old.dataset.key) old = null;
    if (old && same(old, next)) {
      if (old !== at) target.insertBefore(old, at);
      else at = at.nextSibling;
      bring(old, next);
    } else {
      target.insertBefore(next, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function same(old, next) {
  return old.nodeType === next.nodeType && old.nodeName === next.nodeName;
}

function bring(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  const theirs = THEIRS[old.nodeName] || [];
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !theirs.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (!theirs.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.nodeName === "BUTTON" && old.hasAttribute("data-done")) return;
  update(old, next.childNodes);
}
