package netapitest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A Difference is an exchange that we answer in another way than Salt does.
type Difference struct {
	Status int // 0: as Salt's
	Why    string
}

// A Replay replays exchanges and compares the answers with Salt's.
type Replay struct {
	Site *Site
	Conf string // exchanges with other configurations are left out
	// Better are the differences by the names of exchanges. Used takes the names that were met.
	Better map[string]Difference
	Used   map[string]bool
	// Before prepares what was there at the time of an exchange, and returns what ends it; nil does
	// nothing.
	Before func(t *testing.T, e *Exchange) (after func())
	// Page compares an answer that is no JSON.
	Page func(t *testing.T, e *Exchange, got *Reply)
}

// Run replays a list of exchanges. Those of websockets are left out.
func (p *Replay) Run(t *testing.T, list []*Exchange) {
	for i, e := range list {
		if e.Conf == "" {
			e.Conf = "main"
		}
		if e.Conf != p.Conf || e.Sent != nil {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i, e.Name), func(t *testing.T) { p.one(t, e) })
	}
}

func (p *Replay) one(t *testing.T, e *Exchange) {
	other, isBetter := p.Better[e.Name]
	p.Used[e.Name] = p.Used[e.Name] || isBetter
	if p.Before != nil {
		defer p.Before(t, e)()
	}
	got := p.Site.send(t, e)
	want := e.Response.Status
	if isBetter && other.Status != 0 {
		want = other.Status
	}
	if got.Status != want {
		t.Fatalf("status %d, want %d: %s", got.Status, want, got.Body)
	}
	if !isBetter {
		p.compare(t, e, got)
	}
}

// compare compares an answer with the one of the vectors.
func (p *Replay) compare(t *testing.T, e *Exchange, got *Reply) {
	t.Helper()
	kind := func(header string) string { k, _, _ := strings.Cut(header, ";"); return k }
	page := e.Response.Status >= 400 && e.Response.JSON == nil && strings.HasPrefix(e.header("Content-Type"), "text/html")
	if !page && e.Response.Body != "" && e.Response.Status < 400 && kind(got.Header.Get("Content-Type")) != kind(e.header("Content-Type")) {
		t.Errorf("Content-Type %q, want %q", got.Header.Get("Content-Type"), e.header("Content-Type"))
	}
	for _, name := range []string{"Allow", "Cache-Control", "Www-Authenticate", "Content-Disposition"} {
		if got.Header.Get(name) != e.header(name) && e.Response.Status < 400 &&
			!(name == "Cache-Control" && e.header(name) == "") {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), e.header(name))
		}
	}
	switch {
	case page:
		p.Page(t, e, got)
	case e.Response.JSON != nil:
		want, have := e.Response.JSON, got.JSON(t)
		want, have = Comparable(want, ""), Comparable(have, "")
		if strings.Contains(e.body(), "local_batch") {
			sortItems(want)
			sortItems(have)
		}
		if strings.Contains(e.body(), "local_subset") { // which minion is chance
			swap := strings.NewReplacer("m1", "m", "m2", "m")
			want, have = swap.Replace(fmt.Sprint(want)), swap.Replace(fmt.Sprint(have))
		}
		if diff := cmp.Diff(want, have); diff != "" && !onlyHost(e) {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// sortItems sorts the items of a batch, which come in the order in which minions start.
func sortItems(v any) {
	items, _ := v.(map[string]any)["return"].([]any)
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// onlyHost reports whether an answer tells of the host and of the programs, not of the API: grains,
// documentation, lists of functions, versions, configuration.
func onlyHost(e *Exchange) bool {
	for _, fun := range []string{"grains.items", "cache.grains", "config.values", "test.providers", "beacons.list_available",
		"sys.", "test.version", "orchestrate_show_sls", "cache.pillar"} {
		if strings.Contains(e.body(), fun) {
			return true
		}
	}
	return e.Request.Path == "/stats" || strings.HasPrefix(e.Request.Path, "/minions") && e.Request.Method == "GET"
}

var (
	jidText    = regexp.MustCompile(`\b20\d{18}\b`)
	stampText  = regexp.MustCompile(`\d{4}[-, ][A-Z0-9a-z-]+[ T]\d{1,2}:?\d{2}:\d{2}\.\d+|\d{4}, [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2}\.\d+`)
	clockText  = regexp.MustCompile(`^\d{2}:\d{2}:\d{2}\.\d+$`)
	digestText = regexp.MustCompile(`\b([0-9a-f]{2}:){31}[0-9a-f]{2}\b|\b[0-9a-f]{40,128}\b`)
)

// Comparable returns v without what differs from run to run: ids, times and digests.
func Comparable(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k == "__kwarg__" {
				continue // 3006.18 keeps this mark, 3006.0 does not
			}
			if k == "start" || k == "expire" || k == "duration" || k == "pid" || k == "__pub_pid" {
				x = "~"
			}
			out[Comparable(k, "").(string)] = Comparable(x, k)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = Comparable(x, key)
		}
		return out
	case string:
		v = jidText.ReplaceAllString(v, "JID")
		v = digestText.ReplaceAllString(v, "HEX")
		v = stampText.ReplaceAllString(v, "STAMP")
		if clockText.MatchString(v) {
			v = "CLOCK"
		}
		if strings.Contains(v, "Traceback (most recent call last)") || strings.Contains(v, "@TRACEBACK@") {
			v = "TRACEBACK"
		}
		if strings.Contains(v, "Passed invalid arguments") {
			v = "INVALID ARGUMENTS"
		}
		return v
	}
	return v
}
