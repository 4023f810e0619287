package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// A link leads to the minion that it names, whatever its id contains.
func TestLinkToOddMinion(t *testing.T) {
	b := open(t)
	b.logIn(t, "saltdev")
	got := b.get(t, "/schedules?minion="+url.QueryEscape("a?b#c/d"))
	if !strings.Contains(got.body, `href="/console/minions/a%3Fb%23c%2Fd"`) {
		t.Errorf("no link to the minion:\n%s", got.body)
	}
}

func TestSchedules(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	b.get(t, "/schedules").want(t, 200, `<option value="m1">`, "The master’s option <code>schedule</code> has no jobs.")
	b.get(t, "/schedules?minion=m1").want(t, 200, "Schedule of m1", "__mine_interval", "of the minion itself")
	b.order(t, "local", "m1", "schedule.add", "nightly", data.NewMap("__kwarg__", true, "function", "test.ping", "hours", int64(3), "minutes",
		int64(1), "persist", false))

	b.get(t, "/schedules?minion=m1").want(t, 200, "nightly", "test.ping", "every 3 hours 1 minute", `<span class="badge good">enabled</span>`,
		`aria-label="Run nightly now"`, `data-th="Next run">20`)
	bus := b.Master.Listen(t, "salt/job/")
	got := b.post(t, "/schedules", "minion", "m1", "job", "nightly", "do", "disable_job")
	got.want(t, 200, "m1: Disabled Job nightly in schedule.", `aria-label="Enable nightly"`)
	if got.path != "/console/schedules?minion=m1" {
		t.Errorf("after the change: %s", got.path)
	}
	b.post(t, "/schedules", "minion", "m1", "job", "nightly", "do", "enable_job").want(t, 200, "m1: Enabled Job nightly in schedule.")
	b.post(t, "/schedules", "minion", "m1", "job", "nightly", "do", "run_job").want(t, 200, "m1: Scheduling Job nightly on minion.")
	awaitFun(t, bus, "test.ping")

	b.order(t, "local", "m1", "schedule.disable", data.NewMap("__kwarg__", true, "persist", false))
	b.get(t, "/schedules?minion=m1").want(t, 200, "disabled as a whole")
	b.post(t, "/schedules", "minion", "m1", "do", "enable").want(t, 200, "m1: Enabled schedule on minion.")
	b.get(t, "/schedules?minion=m1").lacks(t, "disabled as a whole")

	b.post(t, "/schedules", "minion", "m1", "job", "nosuch", "do", "enable_job").want(t, 400, "m1 refuses: Job nosuch does not exist.")
	b.post(t, "/schedules", "minion", "m1", "job", "nightly", "do", "delete").want(t, 400, "no such action")
	b.post(t, "/schedules", "job", "nightly", "do", "run_job").want(t, 400, "names no minion")
	b.get(t, "/schedules?minion=nobody").want(t, 200, "nobody does not answer.")

	b.logIn(t, "limited")
	b.get(t, "/schedules").want(t, 200, "@runner to config.get")
	b.get(t, "/schedules?minion=m1").want(t, 200, "schedule.list")
	b.post(t, "/schedules", "minion", "m1", "job", "nightly", "do", "run_job").want(t, 401, "external_auth")
}
