package console_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	chromium "github.com/brineproject/brine/internal/test/browser"
	"github.com/brineproject/brine/internal/test/need"
)

// TestInBrowser opens the pages of the console in a real browser: nothing of a page is refused by its
// content security policy, and no script of it fails.
func TestInBrowser(t *testing.T) {
	need.Time(t, "it starts a master, two minions and a browser")
	p := chromium.Start(t)
	b := open(t, "m1", "m2")
	b.sls(t, "deploy.sls", deploy)
	root := b.Server.URL + "/console"

	p.Emulate(1440, 900, false)
	p.Open(root + "/events?tag=salt/job/")
	p.WaitText("Log in")
	look(p, "login")
	p.Press("s", "a", "l", "t", "d", "e", "v", "Tab", "s", "a", "l", "t", "d", "e", "v", "Enter")
	p.WaitText("Log out")
	if got := p.Address(); got != root+"/events?tag=salt/job/" {
		t.Errorf("after the login: %s", got)
	}

	b.logIn(t, "saltdev")
	t.Run("axe", func(t *testing.T) {
		if os.Getenv("BRINE_TEST_AXE") == "" {
			t.Skip("the pages are not checked with axe-core: BRINE_TEST_AXE does not name its axe.min.js")
		}
	})
	// These are no subtests: a step of the page that fails ends this test.
	eventsInBrowser(t, p, b)
	orchestrationsInBrowser(p, root)
	schedulesInBrowser(p, root)
	queueInBrowser(t, p, b)
	runInBrowser(t, p, b)
	jobsInBrowser(t, p, b)
	minionInBrowser(t, p, root)
	keysInBrowser(t, p, b)
	minionsInBrowser(t, p, b)
	rightsInBrowser(p, root)
	p.Forgive("404 (Not Found)")
	p.Open(root + "/nowhere")
	look(p, "nowhere")
}

func schedulesInBrowser(p *chromium.Page, root string) {
	p.Open(root + "/schedules")
	look(p, "schedules")
	p.Type("#minion", "m1")
	p.Press("Enter")
	p.WaitText("__mine_interval")
	look(p, "schedule")
}

func queueInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root := b.Server.URL + "/console"
	p.Open(root + "/queue")
	look(p, "queue-empty")
	b.enqueue(t, "web1", "web2", "web3", "web4", "web5", "web6", "web7")
	p.Open(root + "/queue")
	p.WaitText("and 2 more")
	look(p, "queue")
	p.Eval(`window.confirm = (text) => { window.asked = text; return false }`)
	p.Click("main table button.bad")
	p.Until(`window.asked.startsWith("Cancel job 20")`)
	p.WaitText("and 2 more")
	p.Eval(`window.confirm = () => true`)
	p.Follow("main table button.bad")
	p.WaitText("no longer waits for 7 minions.")
}

// look checks a page in light and dark, wide and narrow, and with axe-core.
func look(p *chromium.Page, name string) {
	for _, width := range []int{1440, 390} {
		for _, dark := range []bool{false, true} {
			p.Emulate(width, 900, dark)
			p.Fits()
			if dark == (width == 390) { // each of the colours and of the sizes once
				p.Axe()
			}
			colours := map[bool]string{false: "light", true: "dark"}[dark]
			p.Screenshot(fmt.Sprintf("%s-%d-%s", name, width, colours))
		}
	}
	p.Emulate(1440, 900, false)
}

func eventsInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	p.WaitText("Following")
	b.order(t, "local", "m1", "test.echo", "<img src=x onerror=alert(1)>")
	p.Until(`document.querySelector("#events .badge.good")?.textContent === "returned"`)
	p.Click("#events .entry:first-child summary time")
	p.WaitText("<img src=x")
	look(p, "events")

	p.Click("#events-pause")
	b.order(t, "local", "m1", "test.false")
	p.WaitText("Resume (")
	p.Until(`/Resume \([2-9] new\)/.test(document.getElementById("events-pause").textContent)`)
	p.WaitText("Paused")
	if n := p.Eval(`document.querySelectorAll("#events .bad").length`); n != "0" {
		t.Errorf("%s new rows while the page is paused", n)
	}
	p.Click("#events-pause")
	p.Until(`document.getElementById("events").innerText.includes("test.false")`)
	p.Click("#events-clear")
	p.WaitText("No such event")
	if n := p.Eval(`document.querySelectorAll("#events details").length`); n != "0" {
		t.Errorf("%s rows after clear", n)
	}
	b.order(t, "local", "m2", "test.ping")
	p.Until(`document.getElementById("events").innerText.includes("m2")`)

	// rows of the script are those of the server
	p.Until(`document.getElementById("events").innerText.includes("returned")`)
	of := `[...document.querySelectorAll("#events .entry")].map((e) => [...e.querySelectorAll("summary, a")].map((s) =>
		s.textContent.replace(/\s+/g, " ").trim() + " " + (s.getAttribute("href") ?? "")).join(" | ")).join("\n")`
	live := p.Eval(of)
	p.Open(p.Address())
	if again := p.Eval(of); len(again) < len(live) || again[:len(live)] != live {
		t.Errorf("the rows of the script are\n%s\nand those of the page\n%s", live, again)
	}

	p.Click("#tag")
	p.Eval(`document.getElementById("tag").value = ""`)
	p.Type("#tag", "salt/job/*/ret/m2")
	p.Press("Enter")
	p.Until(`location.search.includes("ret%2Fm2")`)
	p.WaitText("Following")
	if n := p.Eval(`document.querySelectorAll("#events details").length`); n != "1" {
		t.Errorf("%s rows of one return", n)
	}

	// the stream rests while the page is hidden, and goes on behind the last event
	hidden := func(on bool) {
		p.Eval(fmt.Sprintf(`(Object.defineProperty(document, "hidden", {value: %v, configurable: true}),
			document.dispatchEvent(new Event("visibilitychange")), "")`, on))
	}
	p.Open(b.Server.URL + "/console/events?tag=test/")
	p.WaitText("Following")
	hidden(true)
	p.WaitText("Resting")
	b.fire(t, "test/unseen")
	hidden(false)
	p.Until(`document.querySelector("#events .tag")?.textContent === "test/unseen"`)

	// much data: the oldest rows go
	for i := range 20 {
		b.fireWord(t, fmt.Sprintf("test/long/%d", i), strings.Repeat("x", 500_000))
	}
	p.Until(`document.querySelector("#events .tag")?.textContent === "test/long/19"`)
	if n := p.Eval(`document.querySelectorAll("#events details").length`); n != "16" {
		t.Errorf("%s rows of 20 events with half a megabyte each", n)
	}

	// many events at once: at most 1,000 rows
	p.Open(b.Server.URL + "/console/events?tag=test/")
	p.WaitText("Following")
	for i := range 1100 {
		b.fire(t, fmt.Sprintf("test/%d", i))
	}
	p.Until(`document.querySelector("#events .tag")?.textContent === "test/1099"`)
	if n := p.Eval(`document.querySelectorAll("#events details").length`); n != "1000" {
		t.Errorf("%s rows of 1100 events", n)
	}
}

func orchestrationsInBrowser(p *chromium.Page, root string) {
	p.Open(root + "/orchestrations")
	look(p, "orchestrations-empty")
	p.Click("#start summary")
	p.WaitFor("#mods")
	look(p, "orchestrations-form")
	p.Type("#mods", "deploy")
	p.Type("#pillar", "word: hello")
	p.Follow("#start button.main")
	p.WaitText("2 changed") // the script has renewed the page
	p.Until(`document.querySelector("[data-live]") === null`)
	look(p, "orchestration")
	p.Open(root + "/orchestrations")
	p.WaitText("succeeded")
	look(p, "orchestrations")
}
