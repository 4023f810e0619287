package zypperpkg

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A call holds the settings of a run of zypper.
type call struct {
	root     any  // a directory to use as the root directory
	xml      bool // print XML
	reading  bool // read only: zypper needs no lock
	quiet    bool // the caller handles a failure
	refresh  bool // allow a refresh of the repositories
	scoped   bool // survive a restart of the minion
	anyRepos bool // ignore failing repositories
}

// lockedCode is zypper's exit code while another instance runs.
const lockedCode = 7

// lockWait is the time between attempts while zypper is locked.
const lockWait = 5 * time.Second

// run runs zypper and returns its output. While zypper is locked, it tries again.
func (m *module) run(ctx context.Context, c call, args ...any) (calls.Ran, error) {
	command := []any{"zypper", "--non-interactive"}
	if c.xml {
		command = append(command, "--xmlout")
	}
	if !c.refresh && !slices.Contains(args, any("--no-refresh")) {
		command = append(command, "--no-refresh")
	}
	if data.Truth(c.root) {
		command = append(command, "--root", c.root)
	}
	command = append(command, args...)
	if c.scoped {
		var err error
		if command, err = packages.Scoped(ctx, m.env, "salt.loaded.int.module.zypperpkg",
			command); err != nil {
			return calls.Ran{}, err
		}
	}
	var r calls.Run
	if c.reading && !c.refresh {
		r.Env = data.NewMap("ZYPP_READONLY_HACK", "1")
	}
	for {
		out, err := packages.Run(ctx, m.env, r, command...)
		if err != nil || out.Retcode != lockedCode {
			return out, errors.Join(err, c.failure(out))
		}
		m.env.Log.Debug("zypper is locked: waiting for it to be released")
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(lockWait):
		}
	}
}

// succeeded reports whether zypper succeeded. The codes 100 to 103 mean that something remains to
// be done, such as a restart of the host.
func succeeded(code int) bool { return code == 0 || 100 <= code && code <= 103 }

// failure returns the error of a run, or nil. It ignores missing repositories, skipped
// repositories, and failed scripts of packages.
func (c call) failure(out calls.Ran) error {
	if succeeded(out.Retcode) || out.Retcode == 6 || out.Retcode == 106 || out.Retcode == 107 ||
		c.quiet || c.anyRepos {
		return nil
	}
	message := strings.TrimSpace(out.Stderr) + strings.TrimSpace(out.Stdout)
	if c.xml {
		message = strings.TrimSpace(out.Stderr)
		if nodes, err := parseXML(out.Stdout); err == nil {
			message = ""
			for _, n := range named(nodes, "message") {
				if n.attrs.Text("type") == "error" {
					message = strings.TrimPrefix(message+"\n"+n.text, "\n")
				}
			}
		}
	}
	if message == "" {
		message = "Check Zypper's logs."
	}
	return loader.Execution("Zypper command failure: %s", message)
}

// nodes runs zypper with XML output and returns the elements with a name.
func (m *module) nodes(ctx context.Context, c call, name string, args ...any) ([]node, error) {
	all, err := m.all(ctx, c, args...)
	return named(all, name), err
}

// all runs zypper with XML output and returns all elements.
func (m *module) all(ctx context.Context, c call, args ...any) ([]node, error) {
	c.xml = true
	out, err := m.run(ctx, c, args...)
	if err != nil {
		return nil, err
	}
	all, err := parseXML(out.Stdout)
	if err != nil {
		return nil, loader.Execution("parse the output of zypper: %w", err)
	}
	return all, nil
}

// A node is an XML element: its attributes and its text.
type node struct {
	name  string
	attrs *data.Map
	text  string
}

func named(nodes []node, name string) []node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n node) bool { return n.name != name })
}

// parseXML returns all elements of a document in order.
func parseXML(text string) ([]node, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var nodes []node
	var open []int
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			n := node{name: t.Name.Local, attrs: &data.Map{}}
			for _, a := range t.Attr {
				n.attrs.Set(a.Name.Local, a.Value)
			}
			open = append(open, len(nodes))
			nodes = append(nodes, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				nodes[open[len(open)-1]].text += string(t)
			}
		}
	}
}
