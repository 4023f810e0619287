package hosts

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// oneLine rejects strings that contain a line end: the rest would become an entry of its own.
func oneLine(parts ...string) error {
	for _, part := range parts {
		if strings.ContainsAny(part, "\r\n\x00") {
			return loader.Execution("write the hosts file: %q contains a line break", part)
		}
	}
	return nil
}

type setHostArgs struct {
	IP      string
	Alias   string
	Comment any `default:"None"`
}

// setHost sets the names of an address, separated by spaces, and returns whether that succeeded.
// Without a name the address is removed.
//
// CLI Example:
//
//	salt '*' hosts.set_host 192.0.2.1 'web1 web1.example.com'
func (m *module) setHost(ctx context.Context, a setHostArgs) (any, error) {
	if err := oneLine(a.IP, a.Alias, data.Str(a.Comment)); err != nil {
		return nil, err
	}
	if ok, err := m.isFile(ctx); !ok {
		return false, err
	}
	text, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	line := a.IP + "\t\t" + a.Alias
	if data.Truth(a.Comment) {
		line += "\t\t# " + data.Str(a.Comment)
	}
	line += "\n"
	if strings.TrimSpace(a.Alias) == "" {
		line = ""
	}
	next := withLine(text, a.IP, line)
	if next == text {
		return true, nil
	}
	return true, m.write(ctx, next)
}

// withLine returns the text with one line in place of all lines of an address: where the first was,
// or at the end.
func withLine(text, ip, line string) string {
	var b strings.Builder
	placed := false
	for old := range strings.Lines(text) {
		words := strings.Fields(old)
		if len(words) == 0 || words[0] != ip {
			b.WriteString(old)
		} else if !placed {
			b.WriteString(line)
			placed = true
		}
	}
	if !placed {
		if line != "" && text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

type aliasArgs struct{ IP, Alias string }

// rmHost removes a name from an address, and the line if it was the only name. It returns True.
//
// CLI Example:
//
//	salt '*' hosts.rm_host 192.0.2.1 web1
func (m *module) rmHost(ctx context.Context, a aliasArgs) (any, error) {
	text, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	next := withoutName(text, a.IP, a.Alias)
	if next == text {
		return true, nil
	}
	return true, m.write(ctx, next)
}

// withoutName returns the text with a name removed from an address. Other lines of the address
// stay.
func withoutName(text, ip, name string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		before, comment, commented := strings.Cut(strings.TrimSpace(line), "#")
		words := strings.Fields(before)
		if len(words) == 0 || words[0] != ip || !slices.Contains(words[1:], name) {
			b.WriteString(line)
			continue
		}
		left := slices.DeleteFunc(words[1:], func(w string) bool { return w == name })
		if len(left) == 0 {
			continue
		}
		b.WriteString(ip + "\t\t" + strings.Join(left, " ") + " ")
		if comment = strings.TrimLeft(comment, " \t"); commented && comment != "" {
			b.WriteString("# " + comment)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// addHost adds a name to an address, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' hosts.add_host 192.0.2.1 web1
func (m *module) addHost(ctx context.Context, a aliasArgs) (any, error) {
	if err := oneLine(a.IP, a.Alias); err != nil {
		return nil, err
	}
	if ok, err := m.isFile(ctx); !ok {
		return false, err
	}
	list, err := m.entries(ctx)
	if err != nil {
		return nil, err
	}
	e := find(list, a.IP)
	if e == nil {
		e = &entry{key: a.IP}
		list = append(list, e)
	}
	if slices.Contains(e.names, a.Alias) {
		return true, nil
	}
	e.names = append(e.names, a.Alias)
	return true, m.write(ctx, render(list))
}

type setCommentArgs struct {
	IP      string
	Comment string
}

// setComment sets the comment of an address, and returns whether that succeeded. It returns False
// if there is no such address.
//
// CLI Example:
//
//	salt '*' hosts.set_comment 192.0.2.1 'the web server'
func (m *module) setComment(ctx context.Context, a setCommentArgs) (any, error) {
	if err := oneLine(a.Comment); err != nil {
		return nil, err
	}
	if ok, err := m.isFile(ctx); !ok {
		return false, err
	}
	list, err := m.entries(ctx)
	if err != nil {
		return nil, err
	}
	e := find(list, a.IP)
	switch {
	case e == nil:
		return false, nil
	case e.comment == a.Comment:
		return true, nil
	}
	e.comment = a.Comment
	return true, m.write(ctx, render(list))
}
