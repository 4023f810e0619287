package console_test

import (
	"fmt"
	"strings"
	"testing"

	chromium "github.com/brineproject/brine/internal/test/browser"
)

func minionInBrowser(t *testing.T, p *chromium.Page, root string) {
	t.Helper()
	p.Open(root + "/minions/m1")
	p.WaitText("Connected for")
	look(p, "minion")
	p.Type("#filter", "web-m1")
	p.Press("Enter")
	p.Until(`location.search.includes("filter=web-m1") && document.querySelector(".tree") !== null`)
	if got := p.Text(".tree"); !strings.Contains(got, "role:") || strings.Contains(got, "saltversion") {
		t.Errorf("the grains with web-m1 are %s", got)
	}
	p.Follow(`form[action$="/grains"] button`)
	p.WaitText("m1 collects its grains.")

	p.Follow(`.tabs a[href*="tab=pillar"]`)
	p.WaitText("secretpw:")
	if got := p.Text(".tree"); strings.Contains(got, "hidden") {
		t.Errorf("the pillar is shown: %s", got)
	}
	look(p, "pillar")
	p.Follow(`a[href*="show=yes"]`)
	p.WaitText("Mask all values")
	if got := p.Text(".tree"); strings.Contains(got, "hidden") { // its key is the name of a secret
		t.Errorf("the secret is shown: %s", got)
	}
	p.Follow(`.filters a.button`)
	p.Follow(`a[href*="reveal=secretpw"]`)
	p.WaitText("Mask the value again")
	if got := p.Text(".tree"); !strings.Contains(got, "hidden") {
		t.Errorf("the value is not revealed: %s", got)
	}
	look(p, "pillar-revealed")
}

// keysInBrowser tests the page of keys, with fingerprints that the script compares.
func keysInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root, pki := b.Server.URL+"/console", b.Master.Config.PKIDir
	p.Open(root + "/keys")
	p.WaitText("No pending keys")
	look(p, "keys-empty")
	key := newKey(t)
	for _, name := range []string{"minions_pre/new1", "minions_pre/new2", "minions_pre/new3", "minions_rejected/bad1", "minions_denied/m2"} {
		putKey(t, pki, name, key)
	}
	b.fire(t, "salt/key")
	p.WaitText("new3") // the script has renewed the list

	finger := p.Eval(`document.querySelector('[name="finger.new1"]').dataset.finger`)
	p.Type(`[name="finger.new1"]`, "local: "+finger)
	verdict := func(id, want string) {
		p.Until(fmt.Sprintf(`document.querySelector('[name="finger.%s"]').closest("tr").querySelector(".badge")?.textContent === %q`, id, want))
	}
	verdict("new1", "equal")
	p.Type(`[name="finger.new2"]`, strings.Replace(finger, finger[:5], "00:00", 1))
	verdict("new2", "different")
	p.Click(`[name=key][value$=" new1"]`)
	p.Eval(`(document.activeElement.blur(), "")`)
	putKey(t, pki, "minions_pre/new4", key)
	b.fire(t, "salt/key")
	p.WaitText("new4")
	verdict("new1", "equal") // what was typed and checked stays
	verdict("new2", "different")
	look(p, "keys")
	p.Follow("button[value=accept]")
	p.WaitText("The key of new1 is accepted.")
	p.Click(`[name=key][value$=" new2"]`)
	p.Follow("button[value=reject]")
	p.WaitText("The key of new2 is rejected.")

	p.Click("[data-all]")
	p.Until(`[...document.querySelectorAll("[name=key]")].every((box) => box.checked)`)
	p.Eval(`(window.confirm = (text) => { window.asked = text; return false }, "")`)
	p.Click("button[value=delete]")
	p.Until(`window.asked.startsWith("Delete the chosen keys?")`)
	confirmAll(p)
	p.Follow("button[value=delete]")
	p.WaitText("2 keys are deleted.")
	putKey(t, pki, "minions/old1", newKey(t))
	putKey(t, pki, "minions_denied/old1", key)
	p.Open(root + "/keys?state=denied")
	confirmAll(p)
	p.WaitText("Accepted key")
	look(p, "keys-denied")
	p.Click(`[name=key][value$=" old1"]`)
	p.Follow("button[value=accept]")
	p.WaitText("The key of old1 is accepted.")
	p.Open(root + "/keys?state=accepted&q=old1")
	p.Until(`document.querySelector(".finger").textContent === "` + finger + `"`) // the new key has replaced the old one
	p.Click(`[name=key][value$=" old1"]`)
	confirmAll(p)
	p.Follow("button[value=delete]")
	p.WaitText("The key of old1 is deleted.")
	p.Open(root + "/keys?state=accepted")
	p.WaitText("new1")
	look(p, "keys-accepted")
}

// minionsInBrowser tests the list of minions, at last with more than are on a page.
func minionsInBrowser(t *testing.T, p *chromium.Page, b *browser) {
	t.Helper()
	root, pki := b.Server.URL+"/console", b.Master.Config.PKIDir
	p.Open(root + "/minions")
	p.WaitText("2 of 10 connected") // with those of the queue, and new1
	look(p, "minions")
	key := newKey(t)
	putKey(t, pki, "minions_pre/late", key)
	late := between(t, b.get(t, "/keys?q=late").body, `name="key" value="`, `"`)
	b.post(t, "/keys", "state", "pending", "act", "accept", "key", late).want(t, 200, "The key of late is accepted.")
	p.WaitText("2 of 11 connected") // the script has renewed the list

	p.Type("#tgt", "m1")
	p.Press("Enter")
	p.WaitText("1 of 1 connected")
	if got := p.Address(); !strings.Contains(got, "tgt=m1") {
		t.Errorf("the address of the filter is %s", got)
	}
	p.Eval(`(document.getElementById("tgt_type").value = "grain", document.getElementById("tgt").value = "role:web-m1", "")`)
	p.Type("#grain", "role")
	p.Press("Enter")
	p.Until(`[...document.querySelectorAll("td[data-th=role]")].map((e) => e.textContent).join("") === "web-m1"`)
	p.WaitText("The master has no grains of some of these minions") // of those that have never been there
	look(p, "minions-grain")
	p.Open(root + "/minions?tgt=nobody")
	p.WaitText("No minion matches.")
	look(p, "minions-none")
	p.Forgive("400 (Bad Request)")
	p.Open(root + "/minions?tgt=I@a:b&tgt_type=compound")
	look(p, "minions-fault")

	for i := range 105 {
		putKey(t, pki, fmt.Sprintf("minions/host%03d", i), key)
	}
	p.Open(root + "/minions?tgt=host*")
	p.WaitText("0 of 105 connected")
	p.Follow(".pager a")
	p.WaitText("First page")
	if n := p.Eval(`document.querySelectorAll("tbody tr").length`); n != "5" {
		t.Errorf("the second page has %s rows", n)
	}
	look(p, "minions-last")
}

// rightsInBrowser tests the page of rights, and the pages of a user without rights.
func rightsInBrowser(p *chromium.Page, root string) {
	p.Open(root + "/rights")
	look(p, "rights")
	p.Type("#fun", "cmd.run")
	p.Type("#tgt", "m1")
	p.Press("Enter")
	p.Until(`document.querySelector(".panel[role=status] .badge")?.textContent === "Yes"`)
	look(p, "rights-answer")

	p.Follow(".who button")
	p.WaitText("Log in")
	p.Open(root + "/minions")
	logInBrowser(p, "limited", "limited")
	p.WaitText("you lack the right")
	look(p, "minions-refused")
	p.Open(root + "/rights")
	p.WaitText("lack it")
	look(p, "rights-limited")
}
