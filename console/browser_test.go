package console_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	chromium "github.com/brineproject/brine/internal/test/browser"
	"github.com/brineproject/brine/internal/test/need"
)

// TestInBrowser opens the pages of the console in a real browser: nothing of a page is refused by its
// content security policy, and no script of it fails.
func TestInBrowser(t *testing.T) {
	need.Time(t, "it starts a master, two minions and a browser")
	p := chromium.Start(t)
	b := open(t, "m1", "m2")
	b.write(t, "deploy.sls", deploy)
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
	manyEventsInBrowser(t, p, b)
	orchestrationsInBrowser(p, root)
	schedulesInBrowser(t, p, b)
	queueInBrowser(t, p, b)
	runInBrowser(t, p, b)
	stopInBrowser(p, root)
	optionsInBrowser(p, root)
	jobsInBrowser(t, p, b)
	sessionInBrowser(p, root)
	minionInBrowser(t, p, root)
	keysInBrowser(t, p, b)
	minionsInBrowser(t, p, b)
	rightsInBrowser(p, root)
	loginInBrowser(t, p, b)
}

func schedulesInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root := b.Server.URL + "/console"
	b.order(t, "local", "m1", "schedule.add", "nightly", data.NewMap("__kwarg__", true, "function", "test.ping", "hours", int64(3),
		"persist", false))
	p.Open(root + "/schedules")
	look(p, "schedules")
	p.Type("#minion", "m1")
	p.Press("Enter")
	p.WaitText("__mine_interval")
	p.WaitText("every 3 hours")
	look(p, "schedule")
	p.Follow("button[value=disable_job]")
	p.WaitText("Disabled Job nightly in schedule.")
	p.Follow("button[value=enable_job]")
	p.WaitText("Enabled Job nightly in schedule.")
	p.Follow("button[value=run_job]")
	p.WaitText("Scheduling Job nightly on minion.")
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
	p.Follow(`a[aria-label^="The minions of job"]`)
	p.WaitText("web7")
	look(p, "queue-job")
	p.Follow(`button[aria-label="Cancel the job for web1"]`)
	p.WaitText("no longer waits for web1.")
	p.Open(root + "/queue")
	p.Eval(`window.confirm = () => true`)
	p.Follow("main table button.bad")
	p.WaitText("no longer waits for 6 minions.")
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

}

// manyEventsInBrowser sends much data and many events: the oldest rows go.
func manyEventsInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	for i := range 20 {
		b.fireWord(t, fmt.Sprintf("test/long/%d", i), strings.Repeat("x", 500_000))
	}
	p.Until(`document.querySelector("#events .tag")?.textContent === "test/long/19"`)
	if n := p.Eval(`document.querySelectorAll("#events details").length`); n != "16" {
		tags := p.Eval(`[...document.querySelectorAll("#events .tag")].map((e) => e.textContent).join(" ")`)
		t.Errorf("%s rows of 20 events with half a megabyte each: %s", n, tags)
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

// sessionInBrowser ends a session behind a form that is filled in: after the login it is as it was.
func sessionInBrowser(p *chromium.Page, root string) {
	p.Open(root + "/run?tgt=m1&fun=test.echo")
	p.Type(`[name="p.text"]`, "typed long ago")
	p.Eval(`fetch(document.querySelector(".who form").action, {method: "POST"}).then(() => "")`)
	p.Follow("main button.main")
	p.WaitText("Your session has ended, and nothing was sent.")
	look(p, "login-lost")
	logInBrowser(p, "saltdev", "saltdev")
	p.WaitText("Nothing was sent yet: your session had ended.")
	p.Until(`document.querySelector('[name="p.text"]').value === "typed long ago"`)
	p.Follow("main button.main")
	p.WaitText("typed long ago")
}

func logInBrowser(p *chromium.Page, user, password string) {
	p.Type("#username", user)
	p.Type("#password", password)
	p.Follow(".lone button.main")
}

// loginInBrowser logs out, and in with wrong passwords until the pause.
func loginInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root := b.Server.URL + "/console"
	p.Forgive("404 (Not Found)", "401 (Unauthorized)", "429 (Too Many Requests)")
	p.Open(root + "/nowhere")
	look(p, "nowhere")
	p.Follow(".who button")
	p.WaitText("Log in")
	logInBrowser(p, "saltdev", "wrong")
	p.WaitText("The name, the password or the system is wrong.")
	look(p, "login-wrong")
	var guesses sync.WaitGroup
	for range 12 {
		guesses.Go(func() { b.post(t, "/login", "username", "saltdev", "password", "wrong", "eauth", "file") })
	}
	guesses.Wait()
	p.Type("#password", "wrong")
	p.Follow(".lone button.main")
	p.WaitText("Too many wrong passwords: try again in")
	look(p, "login-pause")
}
