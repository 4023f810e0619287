// The script of the console. Every page works without it; it asks before what cannot be undone, renews
// what changes, and filters long lists while the user types.
"use strict";

// A form or button with data-confirm asks before it is sent.
document.addEventListener("submit", (e) => {
  const text = e.submitter?.dataset.confirm ?? e.target.dataset.confirm;
  if (text && !window.confirm(text)) e.preventDefault();
});

// A form that changes something is sent once: its buttons rest until another page is there. The browser
// has taken the fields when the buttons are disabled.
document.addEventListener("submit", (e) => {
  const form = e.target;
  if (e.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent !== undefined) {
    e.preventDefault();
    return;
  }
  keep(form);
  form.dataset.sent = "";
  setTimeout(() => rest(form, true));
  setTimeout(() => rest(form, false), 20_000); // no other page has come
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) rest(form, false);
});

function rest(form, on) {
  if (!on) delete form.dataset.sent;
  for (const button of form.elements) if (button.type === "submit") button.disabled = on;
}

// A form with data-keep is filled in again if the session has ended before it was sent. What looks like
// a secret is not kept; the page has the words from looksSecret of minion.go.
const secretName = new RegExp(document.body.dataset.secrets, "i");

// kept returns a value without the lines that name a secret.
function keptValue(value) {
  return value.split("\n").map((line) => {
    const name = line.match(/^\s*["']?([^\s:="']+)["']?\s*([:=])/);
    return name && secretName.test(name[1]) ? name[0] : line;
  }).join("\n");
}

const keptUnder = (form) => "brine-form " + new URL(form.action).pathname;

function keep(form) {
  if (form.dataset.keep === undefined) return;
  const fields = [];
  for (const f of form.elements) {
    if (!f.name || ["hidden", "password", "submit"].includes(f.type) || secretName.test(f.name)) continue;
    fields.push([f.name, f.type === "checkbox" ? f.checked : keptValue(f.value)]);
  }
  sessionStorage.setItem(keptUnder(form), JSON.stringify(fields));
}

for (const form of document.querySelectorAll("form[data-keep]")) {
  const fields = JSON.parse(sessionStorage.getItem(keptUnder(form)) ?? "[]");
  sessionStorage.removeItem(keptUnder(form));
  if (new URLSearchParams(location.search).get("kept") !== "1") continue;
  for (const [name, value] of fields) {
    const field = form.elements.namedItem(name);
    if (field?.type === "checkbox") field.checked = value;
    else if (field) field.value = value;
  }
  if (fields.length) form.closest("details")?.setAttribute("open", "");
}

// A Stream is an event stream that rests while nobody looks at the page: a browser has few connections
// to a host. It then goes on behind the last event.
class Stream {
  constructor(address, { onopen, onmessage, onchange }) {
    Object.assign(this, { address, onopen, onmessage, onchange });
    this.last = "";
    this.source = null;
    this.look = () => (document.hidden ? this.pause() : this.open());
    document.addEventListener("visibilitychange", this.look);
    this.look();
  }

  open() {
    if (this.source && this.source.readyState !== EventSource.CLOSED) return;
    const address = new URL(this.address, location.href);
    if (this.last) address.searchParams.set("after", this.last);
    this.source = new EventSource(address);
    this.source.onopen = () => {
      this.onopen?.();
      this.onchange?.();
    };
    this.source.onerror = () => this.onchange?.();
    this.source.onmessage = (e) => {
      if (e.lastEventId) this.last = e.lastEventId;
      this.onmessage(e);
    };
  }

  pause() {
    this.source?.close();
    this.source = null;
    this.onchange?.();
  }

  close() {
    document.removeEventListener("visibilitychange", this.look);
    this.pause();
  }

  // state is that of the EventSource, and 3 while it rests.
  get state() {
    return this.source?.readyState ?? 3;
  }
}

// A field with data-submit sends its form when it changes.
document.addEventListener("change", (e) => {
  if (e.target.dataset.submit !== undefined) e.target.form.requestSubmit();
});

// A checkbox with data-all checks the boxes of a name.
document.addEventListener("change", (e) => {
  const name = e.target.dataset.all;
  if (name) for (const box of document.getElementsByName(name)) box.checked = e.target.checked;
});

// An element with data-live is renewed from the page's own address when an event arrives on the stream
// that it names, at most once in data-every milliseconds, until it no longer has the attribute. What
// the user has opened or typed stays.
for (const region of document.querySelectorAll("[data-live]")) {
  const every = Number(region.dataset.every ?? 1000);
  let due = 0, asked = false;
  const renew = async () => {
    asked = false;
    due = Date.now() + every;
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html"), fresh = page.getElementById(region.id);
    if (!fresh) return;
    document.title = page.title;
    const open = new Set([...region.querySelectorAll("details[open][id]")].map((d) => d.id));
    for (const d of fresh.querySelectorAll("details[id]")) if (open.has(d.id)) d.open = true;
    const at = region.contains(document.activeElement) ? document.activeElement : null;
    if (at?.matches("input, select, textarea")) { // the user fills it in
      region.addEventListener("focusout", askLater, { once: true });
      return;
    }
    if (region.querySelector(":active")) { // a click would get lost
      askLater();
      return;
    }
    const typed = [...region.querySelectorAll("input[name]")].filter((f) => f.value !== f.defaultValue || f.checked !== f.defaultChecked);
    region.replaceChildren(...fresh.childNodes);
    for (const f of typed) {
      const now = [...region.querySelectorAll("input[name]")].find((o) => o.name === f.name && (f.type !== "checkbox" || o.value === f.value));
      if (!now) continue;
      [now.value, now.checked] = [f.value, f.checked];
      now.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (at) [...region.querySelectorAll(at.tagName)].find((e) => e.textContent === at.textContent)?.focus({ preventScroll: true });
    if (fresh.dataset.live === undefined) {
      region.removeAttribute("data-live");
      source.close();
    }
  };
  let later;
  const ask = () => {
    if (asked) return;
    asked = true;
    setTimeout(renew, Math.max(0, due - Date.now()));
  };
  const askLater = () => setTimeout(ask, 1000); // not while a button is pressed
  // What is known can be a little behind the events, so that the region is renewed once more.
  const news = () => {
    ask();
    clearTimeout(later);
    later = setTimeout(ask, 2500);
  };
  const source = new Stream(region.dataset.live, { onopen: news, onmessage: news });
}

// A field with data-finger compares the fingerprint in what the user pastes with its own, and shows the
// outcome in the element that data-verdict names, as compareFingers of key.go does.
document.addEventListener("input", (e) => {
  const own = e.target.dataset.finger;
  if (own === undefined) return;
  const place = document.getElementById(e.target.dataset.verdict), text = e.target.value.trim();
  place.replaceChildren();
  if (!own || !text) return;
  const given = text.match(/\b[0-9a-f]{2}(?::[0-9a-f]{2}){15,}\b/i)?.[0] ?? "";
  const equal = given.toLowerCase() === own.toLowerCase(), badge = document.createElement("span");
  badge.className = equal ? "badge good" : "badge bad";
  badge.textContent = equal ? "equal" : "different";
  place.append(badge);
});

// make returns an element with a class and a text. Texts of events never become HTML.
function make(name, look, text) {
  const e = document.createElement(name);
  if (look) e.className = look;
  if (text !== undefined) e.textContent = text;
  return e;
}

// treeOf returns a value as the nested lists of tree.go, with at most a number of lines.
function treeOf(value, left = { lines: 3000 }) {
  if (value === null || typeof value !== "object") {
    return typeof value === "string" ? make("span", "text", value) : make("span", "const", String(value));
  }
  const entries = Object.entries(value), list = make("ul");
  if (!entries.length) return make("span", "const", Array.isArray(value) ? "[]" : "{}");
  for (const [key, child] of entries) {
    const line = make("li");
    if (left.lines-- <= 0) {
      line.append(make("span", "masked", "…"));
      list.append(line);
      break;
    }
    if (Array.isArray(value)) line.append("– ");
    else line.append(make("span", "key", key + ":"), " ");
    line.append(treeOf(child, left));
    list.append(line);
  }
  return list;
}

// The page of events: new ones come on top, and the oldest go when there are too many, or when their data
// is too much. While it is paused they are kept, within the same limits.
class EventList {
  constructor(list) {
    this.list = list;
    this.most = 1000;
    this.mostText = 8 << 20; // characters of the data of all rows
    this.text = 0;
    this.keptText = 0;
    this.gap = false; // some of the kept ones were dropped
    this.sizes = new WeakMap();
    this.root = list.dataset.root;
    const globs = list.dataset.lookups.split(" ").map((glob) => glob.replaceAll(".", "\\.").replaceAll("*", ".*"));
    this.lookups = new RegExp(`^(${globs.join("|")})$`);
    this.kept = [];
    this.paused = false;
    this.timer = 0;
    this.state = document.getElementById("events-state");
    this.pauseButton = document.getElementById("events-pause");
    this.pauseButton.onclick = () => this.pause(!this.paused);
    document.getElementById("events-clear").onclick = () => this.clear();
    document.getElementById("events-tools").hidden = false;
    this.source = null;
    this.source = new Stream(list.dataset.follow, { onchange: () => this.say(), onmessage: (e) => this.take(e.data) });
  }

  // say tells the state of the stream.
  say() {
    const state = ["Connection lost, trying again", this.paused ? "Paused" : "Following", "The stream has ended: reload the page", "Resting"];
    const text = state[this.source?.state ?? 0];
    if (this.state.textContent !== text) this.state.textContent = text;
    const kept = this.kept.length >= this.most ? this.most.toLocaleString("en") + " or more" : this.kept.length;
    this.pauseButton.textContent = this.paused ? `Resume (${kept} new)` : "Pause";
  }

  take(text) {
    const event = JSON.parse(text);
    if (this.list.dataset.all === undefined && this.isLookup(event)) return;
    this.kept.push({ event, size: text.length });
    this.keptText += text.length;
    while (this.kept.length > this.most || (this.keptText > this.mostText && this.kept.length > 1)) {
      this.keptText -= this.kept.shift().size;
      this.gap = true;
    }
    this.timer ||= setTimeout(() => this.draw(), 200);
  }

  // isLookup reports whether an event belongs to what only looks something up, as eventRow of event.go does.
  isLookup({ tag, data }) {
    return data.nocache === true || /^\d{20}$/.test(tag) || this.lookups.test([data.fun ?? []].flat().join(", "));
  }

  draw() {
    this.timer = 0;
    this.say();
    if (this.paused) return;
    const rows = this.kept.map(({ event, size }) => {
      const row = this.row(event);
      this.sizes.set(row, size);
      return row;
    }).reverse();
    if (this.gap) { // what the list has is older than what was dropped
      this.list.replaceChildren();
      [this.gap, this.text] = [false, 0];
    }
    this.text += this.keptText;
    [this.kept, this.keptText] = [[], 0];
    this.list.prepend(...rows);
    while (this.list.childElementCount > this.most || (this.text > this.mostText && this.list.childElementCount > 1)) {
      const oldest = this.list.lastElementChild;
      this.text -= this.sizes.get(oldest) ?? 0;
      oldest.remove();
    }
    document.getElementById("events-none").classList.toggle("hidden", this.list.childElementCount > 0);
  }

  pause(on) {
    this.paused = on;
    this.draw();
  }

  clear() {
    [this.kept, this.keptText, this.text] = [[], 0, 0];
    this.list.replaceChildren();
    this.draw();
  }

  // row returns an event in one line, as eventRow of event.go does.
  row({ tag, data }) {
    const row = make("div", "entry"), fold = make("details", "fold"), line = make("summary"), links = make("div", "links");
    const at = String(data._stamp ?? ""), time = make("time", "mono quiet nowrap", at.slice(11, 23));
    if (at) time.dateTime = at + "Z";
    line.append(time, " ", make("span", "mono tag", tag));
    const [note, look] = this.note(tag, data);
    if (note) line.append(" ", make("span", "badge " + look, note));
    const fun = [data.fun ?? []].flat().join(", ");
    if (typeof data.id === "string" && data.id) links.append(this.link("", "/minions/", data.id));
    if (fun) line.append(" ", make("span", "mono", fun));
    const page = /^runner\.state\.(sls|orch(estrate(_single|_high)?)?)$/.test(fun) ? "/orchestrations/" : "/jobs/";
    if (typeof data.jid === "string" && data.jid && data.nocache !== true) links.append(this.link("mono", page, data.jid));
    fold.append(line);
    fold.addEventListener("toggle", () => {
      const tree = make("div", "tree");
      tree.append(treeOf(data));
      fold.append(tree);
    }, { once: true });
    row.append(fold);
    if (links.childElementCount) row.append(links);
    return row;
  }

  link(look, page, name) {
    const a = make("a", look, name);
    a.href = this.root + page + encodeURIComponent(name);
    return a;
  }

  // failed reports whether a return failed, as failed of record.go does.
  failed({ success, retcode }) {
    const codes = retcode !== null && typeof retcode === "object" ? Object.values(retcode) : [retcode];
    return success === false || codes.some((code) => Boolean(code));
  }

  note(tag, data) {
    const parts = tag.split("/");
    if (parts[3] === "ret" && parts.length > 3) {
      return this.failed(data) ? ["failed", "bad"] : ["returned", "good"];
    }
    if (tag === "salt/auth" || tag === "salt/key") return [String(data.act ?? ""), ""];
    if (tag.startsWith("salt/job/") && tag.endsWith("/new")) {
      const n = data.minions?.length ?? 0;
      return [n === 1 ? "to 1 minion" : `to ${n} minions`, ""];
    }
    if (tag === "brine/stream/lost") return [data.lost === null ? "events missed" : `${data.lost} events missed`, "change"];
    return ["", ""];
  }
}

const eventList = document.getElementById("events");
if (eventList) new EventList(eventList);
