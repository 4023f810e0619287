package browser

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

// Screenshot writes a picture of the whole page, name.png, into the directory that the variable
// BRINE_SCREENSHOTS names. Without that variable it does nothing.
func (p *Page) Screenshot(name string) {
	p.t.Helper()
	p.picture(name, chromedp.FullScreenshot(100))
}

// Window is Screenshot for what the window shows.
func (p *Page) Window(name string) {
	p.t.Helper()
	p.picture(name, chromedp.CaptureScreenshot())
}

func (p *Page) picture(name string, take chromedp.Action[[]byte]) {
	p.t.Helper()
	dir := os.Getenv("BRINE_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture := run(p, "take a screenshot", take)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// Fits checks that the page is no wider than its window.
func (p *Page) Fits() {
	p.t.Helper()
	script := `(() => {
		const most = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= most) return "";
		const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > most + 1);
		return document.documentElement.scrollWidth + " pixels instead of " + most + ": " +
			wide.slice(0, 5).map((e) => e.tagName + "." + e.className).join(", ");
	})()`
	if wide := p.Eval(script); wide != "" {
		p.t.Errorf("%s is too wide: %s", p.where(), wide)
	}
}

// Axe checks the page with axe-core, whose file axe.min.js the variable BRINE_TEST_AXE names. Without
// that variable it says so in the test's log.
func (p *Page) Axe() {
	p.t.Helper()
	path := os.Getenv("BRINE_TEST_AXE")
	if path == "" {
		p.t.Log("not checked with axe-core: BRINE_TEST_AXE does not name its axe.min.js")
		return
	}
	source, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatalf("read axe-core: %v", err)
	}
	run(p, "load axe-core", chromedp.Evaluate[bool]("typeof axe === 'object' || (() => {"+string(source)+"\nreturn true})()"))
	found := p.Eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) =>
		v.id + " (" + v.impact + "): " + v.help + v.nodes.slice(0, 5).map((n) => "\n    " + n.html.slice(0, 300) +
		"\n        " + n.failureSummary.replaceAll("\n", " ")).join("")).join("\n"))`)
	if strings.TrimSpace(found) != "" {
		p.t.Errorf("axe-core on %s:\n%s", p.where(), found)
	}
}
