package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Open opens an address and waits until the page has loaded.
func (p *Page) Open(address string) {
	p.t.Helper()
	run(p, "open "+address, chromedp.Navigate(address))
}

// clickPatience is how long a click may take before it is tried again: the script of a page may have
// replaced the element meanwhile.
const clickPatience = 3 * time.Second

// Click clicks on the first element of a selector of CSS.
func (p *Page) Click(selector string) {
	p.t.Helper()
	_, err := attempt(p, clickPatience, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.Run(ctx, chromedp.Click(chromedp.CSS(selector)))
		return struct{}{}, err
	})
	p.check()
	if err != nil {
		p.t.Fatalf("click on %s on %s: %v", selector, p.where(), err)
	}
}

// Follow clicks on an element, and waits until the page to which that leads has loaded.
func (p *Page) Follow(selector string) {
	p.t.Helper()
	_, err := attempt(p, patience, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
		return struct{}{}, err
	})
	p.check()
	if err != nil {
		p.t.Fatalf("follow %s on %s: %v", selector, p.where(), err)
	}
}

// Type types a text into a field.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	run(p, "type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press presses keys one after another: Tab, Enter, or the characters of any other text.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		code, named := map[string]string{"Tab": kb.Tab, "Enter": kb.Enter}[key]
		if !named {
			code = key
		}
		run(p, "press "+key, chromedp.KeyEvent(code))
	}
}

// Text returns the text of the first element of a selector, as a reader sees it.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return run(p, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// Address returns the address of the page.
func (p *Page) Address() string {
	p.t.Helper()
	return run(p, "ask for the address", chromedp.Location())
}

// Eval runs a script in the page and returns the text of its value, for which it waits if it is a promise.
func (p *Page) Eval(script string) string {
	p.t.Helper()
	return run(p, "run a script", chromedp.Evaluate[string]("Promise.resolve("+script+").then(String)", chromedp.EvalAwaitPromise))
}

// WaitFor waits until there is a visible element of a selector.
func (p *Page) WaitFor(selector string) {
	p.t.Helper()
	p.until("wait for "+selector, fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.checkVisibility())", quote(selector)))
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.t.Helper()
	p.until("wait for the text "+text, fmt.Sprintf("document.body?.innerText.includes(%s)", quote(text)))
}

// Until waits until a script is true.
func (p *Page) Until(script string) {
	p.t.Helper()
	p.until("wait until "+script, script)
}

func (p *Page) until(what, script string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// a page that is being left has no value
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+script+")")); err == nil && ok {
			p.check()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.check()
			p.t.Fatalf("%s on %s: it does not come; the page is\n%s", what, p.where(), p.Eval("document.body.innerText"))
		}
	}
}

// Emulate gives the page a size in pixels, and light or dark colours.
func (p *Page) Emulate(width, height int, dark bool) {
	p.t.Helper()
	run(p, "set the size", chromedp.EmulateViewport(int64(width), int64(height)))
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	run(p, "set the colours", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// quote returns a text as a literal of JavaScript.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has JSON
	}
	return string(b)
}
