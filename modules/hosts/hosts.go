// Package hosts is Salt's module hosts: addresses and names in /etc/hosts (salt/modules/hosts.py).
// The option hosts.file names another file.
//
// Differences from Salt: the file is replaced atomically and keeps its owner, mode and attributes;
// read-only functions never create it; a comment that contains # is read to its end.
package hosts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module hosts.
func Plugin() loader.Plugin { return loader.Plugin{Name: "hosts", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_host", m.addHost),
		loader.F("get_alias", m.getAlias),
		loader.F("get_ip", m.getIp),
		loader.F("has_pair", m.hasPair),
		loader.F("list_hosts", m.listHosts),
		loader.F("rm_host", m.rmHost),
		loader.F("set_comment", m.setComment),
		loader.F("set_host", m.setHost),
	}}, nil
}

// file returns the path of the file.
func (m *module) file(ctx context.Context) (string, error) {
	return calls.Option[string](ctx, m.env, "hosts.file")
}

// read returns the content of the file, or "" if it does not exist.
func (m *module) read(ctx context.Context) (string, error) {
	file, err := m.file(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", loader.Execution("read the hosts file: %w", err)
	}
	return string(text), nil
}

// write replaces the content of the file.
func (m *module) write(ctx context.Context, text string) error {
	file, err := m.file(ctx)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write the hosts file: %w", err)
	}
	return nil
}

// isFile reports whether the path is a file or does not exist.
func (m *module) isFile(ctx context.Context) (bool, error) {
	file, err := m.file(ctx)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular(), nil
}

// An entry is an address with its names, or a separate comment.
type entry struct {
	key     string // the address, or comment-N
	names   []string
	comment string // of an address
	text    string // of a comment
}

// parse parses the file. All lines of one address become one entry.
func parse(text string) []*entry {
	var list []*entry
	comments := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		before, comment, commented := strings.Cut(line, "#")
		words := strings.Fields(before)
		switch {
		case len(words) == 0 && commented:
			list = append(list, &entry{key: "comment-" + strconv.Itoa(comments), text: line})
			comments++
		case len(words) > 0:
			e := find(list, words[0])
			if e == nil {
				e = &entry{key: words[0]}
				list = append(list, e)
			}
			e.names = append(e.names, words[1:]...)
			if comment = strings.TrimLeft(comment, " \t"); comment != "" {
				e.comment = comment
			}
		}
	}
	return list
}

func find(list []*entry, key string) *entry {
	if i := slices.IndexFunc(list,
		func(e *entry) bool { return e.key == key && e.text == "" }); i >= 0 {
		return list[i]
	}
	return nil
}

// render returns the text of entries, each on a line.
func render(list []*entry) string {
	var b strings.Builder
	for _, e := range list {
		line := e.text
		if line == "" {
			line = e.key + "\t\t" + strings.Join(e.names, " ")
			if e.comment != "" {
				line += "\t\t# " + e.comment
			}
		}
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// entries reads and parses the file.
func (m *module) entries(ctx context.Context) ([]*entry, error) {
	text, err := m.read(ctx)
	return parse(text), err
}

// listHosts returns the addresses with their names and comments, and separate comments.
//
// CLI Example:
//
//	salt '*' hosts.list_hosts
func (m *module) listHosts(ctx context.Context, _ loader.NoArgs) (any, error) {
	list, err := m.entries(ctx)
	ret := &data.Map{}
	for _, e := range list {
		if e.text != "" {
			ret.Set(e.key, []any{e.text})
			continue
		}
		about := data.NewMap("aliases", data.Values(e.names))
		if e.comment != "" {
			about.Set("comment", e.comment)
		}
		ret.Set(e.key, about)
	}
	return ret, err
}

type hostArgs struct{ Host string }

// getIp returns the first address of a name, or an empty string if there is none.
//
// CLI Example:
//
//	salt '*' hosts.get_ip web1
func (m *module) getIp(ctx context.Context, a hostArgs) (any, error) {
	list, err := m.entries(ctx)
	for _, e := range list {
		if slices.Contains(e.names, a.Host) {
			return e.key, err
		}
	}
	return "", err
}

type ipArgs struct {
	IP string
}

// getAlias returns the names of an address in their order.
//
// CLI Example:
//
//	salt '*' hosts.get_alias 192.0.2.1
func (m *module) getAlias(ctx context.Context, a ipArgs) (any, error) {
	list, err := m.entries(ctx)
	if e := find(list, a.IP); e != nil {
		return data.Values(e.names), err
	}
	return []any{}, err
}

type pairArgs struct {
	IP    string
	Alias any
}

// hasPair returns whether an address has a name, or all names of a list.
//
// CLI Example:
//
//	salt '*' hosts.has_pair 192.0.2.1 web1
func (m *module) hasPair(ctx context.Context, a pairArgs) (any, error) {
	list, err := m.entries(ctx)
	e := find(list, a.IP)
	if e == nil || err != nil {
		return false, err
	}
	names, several := a.Alias.([]any)
	if !several {
		names = []any{a.Alias}
	}
	return !slices.ContainsFunc(names,
		func(n any) bool { return !slices.Contains(e.names, data.Str(n)) }), nil
}
