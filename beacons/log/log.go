// Package log is Salt's beacon log: it reports new lines of a file that match regular expressions
// (salt/beacons/log_beacon.py). Unlike Salt's it reads a file that has become shorter from its
// beginning, and each configured beacon has its own place in its file.
package log

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// maxText is the most text of a file that a turn reads, in bytes. The rest is left out.
const maxText = 16 << 20

// Plugin returns the beacon log.
func Plugin() loader.Plugin {
	return beacons.Plugin("log", "log_beacon", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	fault := beacons.NotList("log", config)
	if fault == "" && !beacons.Merge(config).Has("file") {
		fault = "Configuration for log beacon must contain file option."
	}
	return beacons.Verdict(fault)
}

// place is how far the file has been read.
type place struct {
	at   int64
	read bool // the first turn is over
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[place](ctx)
	if err != nil {
		return nil, err
	}
	set := beacons.Merge(config)
	first := !kept.read
	text, err := kept.next(filepath.Join(b.env.Root, set.Text("file")))
	if err != nil {
		return nil, loader.OSError(err)
	}
	if first {
		return nil, nil
	}
	tags, _ := set.Value("tags").(*data.Map)
	return found(text, tags), nil
}

// next returns the text that was added to a file since the last turn.
func (p *place) next(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	from, first := p.at, !p.read
	p.at, p.read = info.Size(), true
	switch {
	case first || from == p.at:
		return "", nil
	case from > p.at:
		from = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, min(p.at-from, maxText)))
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// A filter is a regular expression with its tag.
type filter struct {
	tag any
	re  *match.Regexp
}

// found returns the events for a text.
func found(text string, tags *data.Map) []*data.Map {
	var events []*data.Map
	var filters []filter
	for tag, v := range tags.All() {
		options, _ := v.(*data.Map)
		expr := options.Value("regex")
		if !data.Truth(expr) {
			continue
		}
		re, err := match.CompileRegexp(data.Str(expr))
		if err != nil {
			events = append(events, data.NewMap("tag", tag, "match", "no", "raw", "", "error", "bad regex"))
			continue
		}
		filters = append(filters, filter{tag, re})
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, f := range filters {
			if f.re.Match(line) {
				events = append(events, data.NewMap("tag", f.tag, "match", "yes", "raw", line, "error", ""))
			}
		}
	}
	return events
}
