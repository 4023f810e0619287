// Package browser drives a headless Chromium for tests of web pages.
//
//	p := browser.Start(t)
//	p.Open(server.URL + "/login")
//	p.Type("#username", "ann")
//	p.Press("Enter")
//	p.WaitText("Log out")
//
// A method that does not get what it waits for ends the test. What a page writes to the console as an
// error, an exception that nothing catches, and what the content security policy forbids fail the test.
// Only tests import this package.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"

	"github.com/brineproject/brine/internal/test/need"
)

// patience is how long one step of a test may take.
const patience = 30 * time.Second

// A Page is a tab of a browser of its own, which ends with its test. It belongs to the goroutine of the
// test.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu      sync.Mutex
	faults  []string // not reported yet
	forgive []string
}

// Start starts a browser with an empty page. The test is skipped if the machine has no Chromium.
func Start(t testing.TB) *Page {
	t.Helper()
	program := find()
	need.Have(t, "Chromium (chromium, chromium-browser, google-chrome or chrome-headless-shell)", program != "")
	home, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses root's sandbox
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	p := &Page{t: t}
	ctx, end := chromedp.NewContext(allocator, chromedp.WithListener(p.note))
	p.ctx = ctx
	t.Cleanup(func() {
		p.check()
		end()
		stop()
		_ = os.RemoveAll(home) // the browser may still write its last files
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return p
}

// find returns the path of a Chromium, "" if there is none.
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// run takes a step and reports what went wrong in the page meanwhile. what names the step.
func run[T any](p *Page, what string, step chromedp.Action[T]) T {
	p.t.Helper()
	v, err := attempt(p, patience, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, step) })
	p.check()
	if err != nil {
		p.t.Fatalf("%s on %s: %v", what, p.where(), err)
	}
	return v
}

// attempt takes a step until it succeeds, each time for at most a while. It is taken again where the
// script of the page has replaced its element meanwhile: then nothing has been done yet.
func attempt[T any](p *Page, each time.Duration, step func(ctx context.Context) (T, error)) (T, error) {
	for until := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(p.ctx, each)
		v, err := step(ctx)
		cancel()
		if !replaced(err) && !errors.Is(err, context.DeadlineExceeded) || !time.Now().Before(until) {
			return v, err
		}
	}
}

// noNode is the code of the browser's error for an element that is no longer in the page.
const noNode = -32000

func replaced(err error) bool {
	f, ok := errors.AsType[*cdproto.Error](err)
	return ok && f.Code == noNode
}

// where returns the address of the page.
func (p *Page) where() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return "the page"
	}
	return at
}

// Forgive lets errors of the page pass that contain one of the texts.
func (p *Page) Forgive(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgive = append(p.forgive, texts...)
}

// check reports the errors of the page.
func (p *Page) check() {
	p.t.Helper()
	p.mu.Lock()
	faults := p.faults
	p.faults = nil
	p.mu.Unlock()
	for _, fault := range faults {
		p.t.Errorf("the page has an error: %s", fault)
	}
}

func (p *Page) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.forgive {
		if strings.Contains(text, known) {
			return
		}
	}
	p.faults = append(p.faults, text)
}
