package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/netapi"
)

// longText is how much of a result a page shows, in bytes.
const longText = 64 << 10

// An outcome is the result of a job on one minion, as its page shows it.
type outcome struct {
	Summary, Class string
	States         *stateRun
	Text           string // of a result that is text, or too long for a tree
	HasText        bool
	Tree           any
	Cut            bool // Text is only the beginning
	Size           int
	Retcode        string // if it is not 0
	Raw            string // address of the result itself
	Plain          bool   // Summary is all there is
}

// outcomeOn returns the result of a job on a minion, from its entry of jobs.list_job.
func outcomeOn(fun, minion string, ret *data.Map) *outcome {
	v := ret.Value("return")
	o := &outcome{Class: "good"}
	if failed(ret) {
		o.Class = "bad"
	}
	if code := ret.Value("retcode"); data.Truth(code) {
		o.Retcode = data.Str(code)
	}
	if o.States = stateRunOf(fun, minion, v); o.States != nil {
		o.Summary, o.Class = o.States.Summary(), o.States.Class()
		return o
	}
	text, isText := v.(string)
	if !isText {
		text = jsonText(v, pyjson.Options{Comma: ", ", Colon: ": "})
	}
	o.Size = len(text)
	o.Summary = firstLine(v, text)
	switch {
	case isText || len(text) > longText:
		if !isText {
			text = indented(v)
		}
		o.Text, o.HasText, o.Cut = clip(text, longText), true, len(text) > longText
	default:
		o.Tree = v
	}
	o.Plain = o.Summary == text || !isText && !isBranch(v)
	return o
}

func indented(v any) string {
	return jsonText(v, pyjson.Options{Comma: ",", Colon: ": ", Lines: true, Step: "  "})
}

// firstLine returns the beginning of a result, for a table.
func firstLine(v any, text string) string {
	switch v := v.(type) {
	case nil, bool:
		return data.Str(v)
	case string:
		if strings.TrimSpace(v) == "" {
			return "(empty text)"
		}
	}
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" || len(line) > 120 {
		return clip(line, 120) + " …"
	}
	return line
}

// A resultPage shows the result of a job on one minion.
type resultPage struct {
	*jobRecord
	Minion  string
	State   progress
	Outcome *outcome // nil without a return
	Note    string
	Raw     string // address of the raw result
	RawKind string
}

// minionResult shows the result of a job on one minion; with raw in the query, the result itself.
func minionResult(q *request) error {
	jid, minion := q.r.PathValue("jid"), q.r.PathValue("minion")
	r, err := q.jobs.results(jid, []string{minion})
	if errors.Is(err, errNoJob) {
		return noJob(jid)
	}
	if err != nil {
		return err
	}
	p := &resultPage{jobRecord: r.jobRecord, Minion: minion, Note: r.note, Raw: q.href(jobPath(jid, minion), "raw", "1"), RawKind: "JSON"}
	for _, one := range r.progress(q.Now()) {
		if one.ID == minion {
			p.State = one
		}
	}
	ret, ok := r.returns.Value(minion).(*data.Map)
	if p.State.ID == "" && !ok {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "The job " + jid + " was not sent to the minion " + clip(minion, 100) + "."}
	}
	if ok {
		if q.r.URL.Query().Has("raw") {
			return q.raw(ret.Value("return"))
		}
		p.Outcome = outcomeOn(r.Fun, minion, ret)
		p.Outcome.Raw = p.Raw
		if _, isText := ret.Value("return").(string); isText {
			p.RawKind = "text"
		}
	}
	return q.render(http.StatusOK, "result", r.Fun+" on "+minion, p)
}

// raw answers with a result itself: a text as it is, all else as JSON.
func (q *request) raw(v any) error {
	kind, body := "application/json", ""
	if text, ok := v.(string); ok {
		kind, body = "text/plain; charset=utf-8", text
	} else {
		body = indented(v) + "\n"
	}
	q.w.Header().Set("Content-Type", kind)
	_, err := fmt.Fprint(q.w, body)
	return err
}
