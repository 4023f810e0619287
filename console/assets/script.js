// The script of the console. Every page works without it; it asks before what cannot be undone, renews
// what changes, and filters long lists while the user types.
"use strict";

// A form or button with data-confirm asks before it is sent.
document.addEventListener("submit", (e) => {
  const text = e.submitter?.dataset.confirm ?? e.target.dataset.confirm;
  if (text && !window.confirm(text)) e.preventDefault();
});

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
  const source = new EventSource(region.dataset.live);
  let due = 0, asked = false;
  const renew = async () => {
    asked = false;
    due = Date.now() + every;
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(region.id);
    if (!fresh) return;
    const open = new Set([...region.querySelectorAll("details[open][id]")].map((d) => d.id));
    for (const d of fresh.querySelectorAll("details[id]")) if (open.has(d.id)) d.open = true;
    const at = region.contains(document.activeElement) ? document.activeElement : null;
    if (at?.matches("input, select, textarea")) { // the user fills it in
      region.addEventListener("focusout", askLater, { once: true });
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
  source.onopen = source.onmessage = () => {
    ask();
    clearTimeout(later);
    later = setTimeout(ask, 2500);
  };
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

// The page of events: new ones come on top, and the oldest go when there are too many. While it is
// paused they are kept.
class EventList {
  constructor(list) {
    this.list = list;
    this.most = 1000;
    this.root = list.dataset.root;
    this.kept = [];
    this.paused = false;
    this.timer = 0;
    this.state = document.getElementById("events-state");
    this.pauseButton = document.getElementById("events-pause");
    this.pauseButton.onclick = () => this.pause(!this.paused);
    document.getElementById("events-clear").onclick = () => this.clear();
    document.getElementById("events-tools").hidden = false;
    this.source = new EventSource(list.dataset.follow);
    this.source.onopen = () => this.say();
    this.source.onerror = () => this.say();
    this.source.onmessage = (e) => this.take(e.data);
  }

  // say tells the state of the stream.
  say() {
    const state = ["Connection lost, trying again", this.paused ? "Paused" : "Following", "The stream has ended: reload the page"];
    const text = state[this.source.readyState];
    if (this.state.textContent !== text) this.state.textContent = text;
    const kept = this.kept.length >= this.most ? this.most.toLocaleString("en") + " or more" : this.kept.length;
    this.pauseButton.textContent = this.paused ? `Resume (${kept} new)` : "Pause";
  }

  take(text) {
    const event = JSON.parse(text);
    if (event.data.nocache === true && this.list.dataset.all === undefined) return; // what a page asks
    this.kept.push(event);
    if (this.kept.length > this.most) this.kept.shift();
    this.timer ||= setTimeout(() => this.draw(), 200);
  }

  draw() {
    this.timer = 0;
    this.say();
    if (this.paused) return;
    const rows = this.kept.map((event) => this.row(event)).reverse();
    this.kept = [];
    this.list.prepend(...rows);
    while (this.list.childElementCount > this.most) this.list.lastElementChild.remove();
    document.getElementById("events-none").classList.toggle("hidden", this.list.childElementCount > 0);
  }

  pause(on) {
    this.paused = on;
    this.draw();
  }

  clear() {
    this.kept = [];
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

  note(tag, data) {
    const parts = tag.split("/");
    if (parts[3] === "ret" && parts.length > 3) {
      return data.success === false || (data.retcode ?? 0) !== 0 ? ["failed", "bad"] : ["returned", "good"];
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
