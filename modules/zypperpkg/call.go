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
)

// A call is a run of zypper.
type call struct {
	root     any  // a directory to take for /
	xml      bool // the answer is XML
	reading  bool // nothing is written: zypper needs no lock
	quiet    bool // a failure is the caller's to judge
	refresh  bool // repositories may be asked again
	scoped   bool // outlives a restart of the minion
	anyRepos bool // a repository that fails is no failure
}

// lockedCode is what zypper ends with while another one runs.
const lockedCode = 7

// lockWait is how long to wait for the other one before the next try.
const lockWait = 5 * time.Second

// run runs zypper, again and again while it is locked, and returns what it says.
func (m *module) run(ctx context.Context, c call, args ...any) (packages.Outcome, error) {
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
		if command, err = packages.Scoped(ctx, m.env, "salt.loaded.int.module.zypperpkg", command); err != nil {
			return packages.Outcome{}, err
		}
	}
	words := &data.Map{}
	if c.reading && !c.refresh {
		words.Set("env", data.NewMap("ZYPP_READONLY_HACK", "1"))
	}
	for {
		out, err := packages.Run(ctx, m.env, words, command...)
		if err != nil || out.Code != lockedCode {
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

// succeeded reports whether zypper did what it was told: 100 to 103 say that more is to be done, such as a restart of the host.
func succeeded(code int64) bool { return code == 0 || 100 <= code && code <= 103 }

// failure returns what went wrong, or nil. No repositories, one that was left out, and a failed script of a package are none.
func (c call) failure(out packages.Outcome) error {
	if succeeded(out.Code) || out.Code == 6 || out.Code == 106 || out.Code == 107 || c.quiet || c.anyRepos {
		return nil
	}
	said := strings.TrimSpace(out.Stderr) + strings.TrimSpace(out.Stdout)
	if c.xml {
		said = strings.TrimSpace(out.Stderr)
		if nodes, err := parseXML(out.Stdout); err == nil {
			said = ""
			for _, n := range named(nodes, "message") {
				if n.attrs.Text("type") == "error" {
					said = strings.TrimPrefix(said+"\n"+n.text, "\n")
				}
			}
		}
	}
	if said == "" {
		said = "Check Zypper's logs."
	}
	return loader.Execution("Zypper command failure: %s", said)
}

// nodes runs zypper for XML, and returns the elements of a name.
func (m *module) nodes(ctx context.Context, c call, name string, args ...any) ([]node, error) {
	all, err := m.all(ctx, c, args...)
	return named(all, name), err
}

// all runs zypper for XML, and returns all elements.
func (m *module) all(ctx context.Context, c call, args ...any) ([]node, error) {
	c.xml = true
	out, err := m.run(ctx, c, args...)
	if err != nil {
		return nil, err
	}
	all, err := parseXML(out.Stdout)
	if err != nil {
		return nil, loader.Execution("read what zypper says: %w", err)
	}
	return all, nil
}

// A node is an element of XML: its attributes, and the text in it.
type node struct {
	name  string
	attrs *data.Map
	text  string
}

func named(nodes []node, name string) []node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n node) bool { return n.name != name })
}

// parseXML returns all elements of a document in their order.
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
