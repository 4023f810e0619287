// Package log is Salt's beacon log: it reports new lines of a file that match regular expressions
// (salt/beacons/log_beacon.py). Unlike Salt's it reads a file that was rotated from its beginning, waits
// for the end of a line, and each configured beacon has its own place in its file.
package log

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// maxText is the most text of a file that a turn reads, in bytes. The rest follows in the next one.
const maxText = 16 << 20

// maxLine is the length of a line that is reported before it has ended, in bytes.
const maxLine = 64 << 10

// Plugin returns the beacon log.
func Plugin() loader.Plugin {
	return beacons.Plugin("log", "log_beacon", func(env *loader.Env) (beacons.Beacon, error) {
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	return beacons.Verdict(fault(config))
}

func fault(config any) string {
	if text := beacons.NotList("log", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("file") {
		return "Configuration for log beacon must contain file option."
	}
	if set.Text("file") == "" {
		return "Configuration for log beacon file must be a path."
	}
	v := set.Value("tags")
	tags, ok := v.(*data.Map)
	if !ok && v != nil {
		return "Configuration for log beacon tags must be a dictionary."
	}
	for tag, v := range tags.All() {
		options, ok := v.(*data.Map)
		if !ok {
			return fmt.Sprintf("Configuration for log beacon tag %s must be a dictionary.", data.Str(tag))
		}
		if expr := options.Value("regex"); data.Truth(expr) {
			if _, err := match.CompileRegexp(data.Str(expr)); err != nil {
				return fmt.Sprintf("Configuration for log beacon tag %s: %v", data.Str(tag), err)
			}
		}
	}
	return ""
}

// place is how far the file has been read.
type place struct {
	at   int64
	file fs.FileInfo // nil before the first turn
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[place](ctx)
	if err != nil {
		return nil, err
	}
	set := beacons.Merge(config)
	first := kept.file == nil
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

// next returns the lines that were added to a file since the last turn. A line that has not ended yet
// waits for its end.
func (p *place) next(path string) (string, error) {
	file, info, err := beacons.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	before := p.file
	p.file = info
	switch {
	case before == nil:
		p.at = info.Size()
		return "", nil
	case info.Size() < p.at, !os.SameFile(before, info): // it was rotated
		p.at = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, p.at, maxText))
	if err != nil {
		return "", err
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if len(text)-end > maxLine {
		end = len(text)
	}
	p.at += int64(end)
	return strings.ToValidUTF8(string(text[:end]), "\uFFFD"), nil
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
