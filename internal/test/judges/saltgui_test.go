//go:build linux

package judges_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/browser"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// A gui is SaltGUI in a browser.
type gui struct {
	*browser.Page
	t *testing.T
}

// TestSaltGUI does in SaltGUI what its users do. Its console shows no error meanwhile.
func TestSaltGUI(t *testing.T) {
	directory(t, "BRINE_TEST_SALTGUI", "saltgui/index.html")
	onEach(t, func(t *testing.T, s *site) {
		g := &gui{browser.Start(t), t}
		// files that SaltGUI reads if an operator has written them
		g.Forgive("/static/minions.txt", "/static/salt-auth.txt", "/static/salt-motd.txt", "/static/salt-motd.html")
		g.Emulate(1440, 1000, false)
		g.Open(s.url + "/")
		g.logIn()
		g.minions()
		g.keys(s)
		g.commands()
		g.highstate()
		g.job()
		g.orchestrations()
		g.nodegroups()
		g.events()
		g.others()
		g.logOut(s)
	})
}

func (g *gui) logIn() {
	g.WaitFor("#username")
	g.Until(`localStorage.getItem("salt-auth-txt") !== null`) // it has renewed the list of systems
	g.Eval(`(document.querySelector("#page-login select").value = "file", "")`)
	g.Forgive("401 (Unauthorized)")
	g.Type("#username", "ann")
	g.Type("#password", "wrong")
	g.Click("#login-button")
	g.WaitFor(".notice_auth_failed")
	g.Eval(`(document.querySelector("#password").value = "", "")`)
	g.Type("#password", "secret")
	g.Click("#login-button")
	g.Until(`location.hash === "#minions"`)
	g.shown("minions")
	g.WaitText("read this first")
}

// page goes to a page of the menu.
func (g *gui) page(name string) {
	g.t.Helper()
	g.Eval(fmt.Sprintf(`(document.getElementById("button-%s1").click(), "")`, name))
	g.shown(name)
}

func (g *gui) shown(name string) {
	g.t.Helper()
	g.Until(fmt.Sprintf(`document.querySelector("#page-%s.current")`, name))
}

// row returns a selector of the row of a minion on a page.
func row(page, id string) string {
	encoded := map[string]string{"m1": "mbTE", "m2": "mbTI", "m3": "mbTM"}[id]
	return "#page-" + page + " #" + encoded
}

// wait waits until the first element of a selector has texts.
func (g *gui) wait(selector string, texts ...string) {
	g.t.Helper()
	for _, text := range texts {
		g.Until(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, text))
	}
}

// matches waits until the text of an element matches a regular expression.
func (g *gui) matches(selector, expression string) {
	g.t.Helper()
	g.Until(fmt.Sprintf("/%s/.test(document.querySelector(%q)?.innerText)", expression, selector))
}

// output runs what is in the box for commands, checks that its output has texts, and closes the box.
func (g *gui) output(wants ...string) {
	g.t.Helper()
	command := g.Eval(`document.getElementById("command").value`)
	g.Click("#run-command")
	g.Until(`!document.getElementById("run-command").disabled &&
		!/^(loading|Waiting)/.test(document.getElementById("popup-output").innerText)`)
	got := g.Text("#popup-output")
	for _, want := range wants {
		if !strings.Contains(got, want) {
			g.t.Errorf("%s: no %q in\n%s", command, want, got)
		}
	}
	g.Click("#cmd-close-button")
	g.Until(`document.getElementById("popup-run-command").style.display === "none"`)
}

// command runs a command and checks its output.
func (g *gui) command(target, command string, wants ...string) {
	g.t.Helper()
	g.Click("#button-manual-run")
	g.WaitFor("#run-command")
	g.Eval(`(document.getElementById("target").value = document.getElementById("command").value = "", "")`)
	if target != "" {
		g.Type("#target", target)
	}
	g.Type("#command", command)
	g.output(wants...)
}

// choose chooses from the menu of a row, which proposes a command.
func (g *gui) choose(row, item, command string) {
	g.t.Helper()
	found := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) =>
		e.innerText.replaceAll("\u00a0", " ").startsWith(%q))`, row+" .menu-dropdown-content div", item)
	g.Until(fmt.Sprintf(`(document.querySelector(%q)?.dispatchEvent(new Event("mouseenter")), %s)`,
		row+" .run-command-button", found))
	g.Eval(fmt.Sprintf(`(%s.click(), "")`, found))
	g.WaitFor("#run-command")
	if got := g.Eval(`document.getElementById("command").value`); got != command {
		g.t.Errorf("%s proposes %q, want %q", item, got, command)
	}
}

func (g *gui) minions() {
	g.wait(row("minions", "m1"), "m1", "Debian")
	g.wait(row("minions", "m2"), "m2", "Debian")
	g.wait("#page-minions .msg", "2 minions")
	g.Until(`document.querySelectorAll("#page-minions .offline").length === 0`)
}

// keys accepts and deletes the key of a third minion.
func (g *gui) keys(s *site) {
	g.page("keys")
	g.wait(row("keys", "m1"), "accepted", ":")
	g.matches(row("keys", "m1"), "([0-9a-f]{2}:){31}[0-9a-f]{2}")
	bus := s.listen(g.t)
	m3 := s.startMinion(g.t, "m3")
	g.wait(row("keys", "m3"), "unaccepted") // the page follows the events of the master
	g.matches(row("keys", "m3"), "([0-9a-f]{2}:){31}[0-9a-f]{2}")
	g.choose(row("keys", "m3"), "Accept", "wheel.key.accept")
	g.output("m3")
	g.Until(fmt.Sprintf(`document.querySelector(%q)?.innerText === "accepted"`, row("keys", "m3")+" .status"))
	testsalt.AwaitEvent(g.t, bus, "salt/minion/m3/start")
	g.command("m3", "test.ping", "m3", "true")
	if err := m3.Stop(); err != nil {
		g.t.Error(err)
	}
	g.choose(row("keys", "m3"), "Delete", "wheel.key.delete")
	g.output()
	g.Until(fmt.Sprintf(`!document.querySelector(%q)`, row("keys", "m3")))
	g.wait("#page-keys .msg", "2 accepted keys")
}

func (g *gui) commands() {
	g.command("*", "test.ping", "m1", "m2", "true")
	g.command("m1", "test.echo text", "m1", "text")
	g.command("m1,m2", "grains.get role", "web-m1", "web-m2")
	g.command("#first", "test.echo group", "m1", "group")
	g.command("m1", "test.kwarg a=1 b=\"two words\"", "two words")
	g.command("m1", "no.such", "'no.such' is not available.")
	g.command("", "runners.manage.up", "m1", "m2")
	g.command("", "runners.jobs.list_jobs", "test.kwarg")
	g.command("*", "wheel.key.list_all", "minions_pre")
	g.command("m1", "sys.doc test.ping", "test.ping:", "salt '*' test.ping")
	g.command("nosuch", "test.ping", "No minions matched")
}

func (g *gui) highstate() {
	g.page("highstate")
	g.choose(row("highstate", "m1"), "Apply state", "state.apply")
	g.output("a place (from site.sls)", "1 succeeded, 1 change")
	g.command("*", "state.apply", "m1", "m2", "a fault (from broken.sls)",
		"1 succeeded, 1 failed, 2 total, 1 change")
	g.page("jobs")
	g.page("highstate")
	for _, id := range []string{"m1", "m2"} {
		g.wait(row("highstate", id), "accepted", "state.apply")
		g.matches(row("highstate", id), "20[0-9]{18}")
	}
	failed := row("highstate", "m2") + " .tasks .task-failure"
	if n := g.Eval(fmt.Sprintf(`document.querySelectorAll(%q).length`, failed)); n != "1" {
		g.t.Errorf("%s failed states of m2", n)
	}
}

// job looks at the newest job, in the list of jobs and by itself.
func (g *gui) job() {
	g.command("*", `cmd.run "echo hello"`, "m1", "m2", "hello")
	g.page("jobs")
	g.wait("#page-jobs tbody tr", "cmd.run", "done")
	g.Eval(`(document.querySelector("#page-jobs tbody tr .details2").click(), "")`)
	g.wait("#page-jobs tbody tr .details", "2 results", "2 successes")
	g.Eval(`(document.querySelector("#page-jobs tbody tr").click(), "")`)
	g.shown("job")
	g.WaitText("cmd.run")
	g.wait("#page-job pre", "m1", "m2")
	g.wait("#page-job pre", "done")
}

func (g *gui) orchestrations() {
	g.page("orchestrations")
	g.wait("#page-orchestrations table", "rollout", "ping the first", "test.ping", "m1")
	g.command("", "runners.state.orchestrate rollout", "ping the first")
}

func (g *gui) nodegroups() {
	g.page("nodegroups")
	g.wait("#page-nodegroups", "pair", "first", "m1", "m2", "2 nodegroups")
	g.Until(`document.querySelector("#ng-first + tr")?.innerText.includes("m1")`)
}

func (g *gui) events() {
	g.page("events")
	g.Eval(`([...document.querySelectorAll("#page-events span.small-button")].
		find((e) => e.innerText.startsWith("\u2bc8")).click(), "")`)
	g.command("m1", "test.echo seen")
	g.wait("#page-events table", "salt/job/", "/ret/m1", "seen")
}

// others opens the other pages.
func (g *gui) others() {
	for _, other := range []struct {
		page  string
		texts []string
	}{
		{"grains", []string{"m1", "m2", "web-m1"}}, {"pillars", []string{"m1", "m2"}}, {"mine", []string{"m1", "m2"}},
		{"schedules", []string{"m1", "m2"}}, {"beacons", []string{"m1", "m2"}}, {"templates", []string{"ping all"}},
		{"issues", []string{"issue"}},
	} {
		g.page(other.page)
		g.wait("#page-"+other.page, other.texts...)
	}
	g.page("pillars")
	g.wait(row("pillars", "m1"), "m1", "1 pillar") // its menu and its click come with the answer
	g.Eval(fmt.Sprintf(`(document.querySelector(%q).click(), "")`, row("pillars", "m1")))
	g.shown("pillars-minion")
	g.wait("#page-pillars-minion", "word")
}

func (g *gui) logOut(s *site) {
	g.page("minions")
	g.wait(row("minions", "m1"), "m1")
	g.Eval(`(document.getElementById("button-logout1").click(), "")`)
	g.Until(`location.hash === "#login"`)
	g.WaitFor("#username")
	if got := g.Address(); got != s.url+"/?reason=logout#login" {
		g.t.Errorf("after the logout: %s", got)
	}
}
