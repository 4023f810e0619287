package browser

import (
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

// note takes an event of the browser, and keeps what is an error of the page.
func (p *Page) note(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "assert" {
			p.fault("console." + string(e.Type) + ": " + textsOf(e.Args))
		}
	case *runtime.EventExceptionThrown:
		p.fault(exceptionText(e.ExceptionDetails))
	case *log.EventEntryAdded: // of the browser itself, such as refusals by the content security policy
		if e.Entry.Level == log.EntryLevelError {
			p.fault(e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

func exceptionText(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text + " " + d.URL
}

func textsOf(args []*runtime.RemoteObject) string {
	var texts []string
	for _, a := range args {
		if a.Description != "" {
			texts = append(texts, a.Description)
			continue
		}
		texts = append(texts, string(a.Value))
	}
	return strings.Join(texts, " ")
}
