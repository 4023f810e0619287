package console_test

import (
	"path/filepath"
	"strings"
	"testing"

	chromium "github.com/brineproject/brine/internal/test/browser"
)

// confirmAll answers questions of the page with yes.
func confirmAll(p *chromium.Page) { p.Eval(`(window.confirm = () => true, "")`) }

// ended waits until the page of a job is no longer renewed, and loads it anew.
func ended(p *chromium.Page) {
	p.Until(`document.getElementById("job") && document.querySelector("[data-live]") === null`)
	p.Open(p.Address())
}

// runInBrowser tests the form, its preview, and jobs that run.
func runInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root := b.Server.URL + "/console"
	b.write(t, "high.sls", strings.ReplaceAll(highSLS, "@FILE@", filepath.Join(b.Dir(), "motd-{{ grains['id'] }}")))
	p.Open(root + "/run")
	p.Until(`document.querySelectorAll("#functions option").length > 100`)
	look(p, "run-empty")
	p.Open(root + "/run?tgt=nobody*&fun=test.ping")
	p.WaitText("No minion matches this target")
	look(p, "run-nobody")

	p.Open(root + "/run")
	p.Type("#tgt", "m*")
	p.Type("#fun", "state.apply")
	p.Follow("button[name=show]")
	p.WaitText("2 minions match, 2 connected")
	p.Click("#minions summary")
	p.Click("#doc summary")
	p.WaitFor("#doc pre")
	look(p, "run")
	if got := p.Eval(`document.getElementById("test").checked`); got != "true" {
		t.Errorf("test=True is checked: %s", got)
	}
	p.Type(`[name="p.mods"]`, "high")
	p.Follow("main button.main")
	p.WaitText("Apply exactly what was shown") // the script has renewed the page
	ended(p)
	p.WaitText("1 failed, 2 would change, 1 unchanged")
	look(p, "job-test")

	confirmAll(p)
	p.Click(`form[action$="/apply"] [name=failed]`)
	p.Follow(`form[action$="/apply"] button`)
	p.WaitText("is applied to the 2 minions")
	ended(p)
	p.WaitText("1 failed, 2 changed, 1 unchanged")
	look(p, "job-applied")
	p.Follow(`a[href*="/jobs/compare"]`)
	p.WaitText("Predicted and done")
	look(p, "compare-predicted")
}

// stopInBrowser stops a job, and kills one.
func stopInBrowser(p *chromium.Page, root string) {
	sleeping(p, root)
	look(p, "job-running")
	p.Eval(`(window.confirm = (text) => { window.asked = text; return false }, "")`)
	p.Click(`form[action$="/stop"] button.bad`)
	p.Until(`window.asked.startsWith("Kill the job")`)
	confirmAll(p)
	p.Follow(`form[action$="/stop"] button`)
	p.WaitText("saltutil.term_job was sent to 1 minion.")
	p.WaitText("1 failed")
	ended(p)
	look(p, "job-stopped")

	sleeping(p, root)
	confirmAll(p)
	p.Eval(`(document.querySelector('form[action$="/stop"] button.bad').focus(), "")`)
	p.Press("Enter") // also if the script renews the page meanwhile
	p.WaitText("saltutil.kill_job was sent to 1 minion.")
	p.WaitText("1 failed")
	ended(p)
}

// optionsInBrowser runs a batch, runs it again, and has a job kept for absent minions.
func optionsInBrowser(p *chromium.Page, root string) {
	p.Open(root + "/run?tgt=m*&fun=test.ping")
	p.Type("#batch", "1")
	p.Follow("main button.main")
	p.WaitText("1 at a time")
	p.WaitText("2 returned")
	ended(p)
	look(p, "job-same")
	p.Follow(`a[href*="again="]`)
	p.WaitText("Arguments of test.ping")
	p.Until(`document.getElementById("tgt").value === "m*" && document.getElementById("batch").value === "1"`)

	p.Open(root + "/run?tgt=web*&fun=test.ping")
	p.WaitText("7 minions match, 0 connected")
	p.Click("#queue")
	p.Type("#queue_for", "1h")
	p.Follow("main button.main")
	p.WaitText("7 queued")
	look(p, "job-queued")
	p.Follow(`a[href*="/queue?job="]`)
	p.WaitText("in the queue")
}

// sleeping runs a function that takes long on m2, and shows its job.
func sleeping(p *chromium.Page, root string) {
	p.Open(root + "/run?tgt=m2&fun=test.sleep")
	p.Type(`[name="p.length"]`, "300")
	p.Follow("main button.main")
	p.WaitText("1 acknowledged")
	p.Open(p.Address())
	p.WaitText("Stop lets the function end")
}

// jobsInBrowser tests the history, the comparison of two jobs, and a result.
func jobsInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root := b.Server.URL + "/console"
	b.write(t, "high.sls", strings.ReplaceAll(strings.ReplaceAll(highSLS, "@FILE@", filepath.Join(b.Dir(), "motd-{{ grains['id'] }}")),
		"one\n", "three\n"))
	jid := b.start(t, "tgt", "m*", "tgt_type", "glob", "fun", "state.apply", "shown", "state.apply", "p.mods", "high")
	b.ended(t, jid)
	p.Open(root + "/jobs/" + jid + "/m1")
	p.WaitText("+three")
	look(p, "result")
	raw := p.Eval(`fetch(document.querySelector('a[href*="raw="]').href).then((r) => r.text())`)
	if !strings.HasPrefix(raw, "{") || !strings.Contains(raw, `"__sls__"`) {
		t.Errorf("the raw result is %s", raw)
	}

	p.Open(root + "/jobs")
	p.WaitText("applies a test")
	look(p, "jobs")
	p.Type("#function", "state.*")
	p.Press("Enter")
	p.Until(`location.search.includes("function=state") && document.querySelector("tbody") !== null`)
	if got := p.Text("tbody"); strings.Contains(got, "test.ping") || !strings.Contains(got, "state.apply") {
		t.Errorf("the jobs of state.* are %s", got)
	}
	p.Eval(`([...document.querySelectorAll("[name=jid]")].slice(0, 2).forEach((box) => box.click()), "")`)
	p.Follow(`form[action$="/compare"] button`)
	p.WaitText("of 4 states differ")
	if got := p.Address(); !strings.HasSuffix(got, "&b="+jid) {
		t.Errorf("the comparison is at %s", got)
	}
	look(p, "compare")
	p.Open(root + "/jobs?user=nobody")
	p.WaitText("No job matches.")
	look(p, "jobs-empty")
}
