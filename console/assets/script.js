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
    if (!region.contains(document.activeElement)) {
      const typed = [...region.querySelectorAll("input[name]")].filter((f) => f.value !== f.defaultValue || f.checked !== f.defaultChecked);
      region.replaceChildren(...fresh.childNodes);
      for (const f of typed) {
        const now = [...region.querySelectorAll("input[name]")].find((o) => o.name === f.name && (f.type !== "checkbox" || o.value === f.value));
        if (!now) continue;
        [now.value, now.checked] = [f.value, f.checked];
        now.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }
    if (fresh.dataset.live === undefined) {
      region.removeAttribute("data-live");
      source.close();
    }
  };
  source.onmessage = () => {
    if (asked) return;
    asked = true;
    setTimeout(renew, Math.max(0, due - Date.now()));
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
