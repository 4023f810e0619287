package output

import (
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// key prints the lists of salt-key: a map of key directory to a list of ids, or to a map of id to
// text (salt/output/key.py).
type key struct {
	colours
	indent      string
	keepEscapes bool
}

func newKey(o Options) Outputter {
	k := key{colours: newColours(o), keepEscapes: o.KeepEscapes}
	if o.MultiKey {
		k.indent = "    "
	}
	return k
}

func (k key) Format(v any) (string, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return "", notFolders(v)
	}
	folders, ok := sortedKeys(m)
	if !ok {
		return "", fmt.Errorf("directories: %w", ErrValue)
	}
	var b strings.Builder
	for _, f := range folders {
		title, light, colour := k.folder(f)
		if title == "" {
			return "", fmt.Errorf("directory %s: %w", data.Repr(f), ErrKey)
		}
		fmt.Fprintf(&b, "%s%s%s:%s\n", k.indent, light, title, k.normal)
		if err := k.ids(&b, m.Value(f), colour); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// notFolders returns the error for a value that is not a map. Salt looks up the elements of a
// sequence as directories; an empty one prints nothing.
func notFolders(v any) error {
	switch v := v.(type) {
	case string, []byte:
		if data.Truth(v) {
			return fmt.Errorf("directories in %T: %w", v, ErrKey)
		}
		return nil
	case []any:
		return noFolder(v)
	case data.Tuple:
		return noFolder(v)
	}
	return fmt.Errorf("directories in %T: %w", v, ErrValue)
}

func noFolder(list []any) error {
	if len(list) == 0 {
		return nil
	}
	m, err := asKeys(list)
	if err != nil {
		return err
	}
	names, ok := sortedKeys(m)
	if title, _, _ := (key{}).folder(names[0]); !ok || title != "" {
		return fmt.Errorf("directories in a list: %w", ErrValue)
	}
	return fmt.Errorf("directory %s: %w", data.Repr(names[0]), ErrKey)
}

// asKeys returns a map with the elements of list as keys.
func asKeys(list []any) (*data.Map, error) {
	m := &data.Map{}
	for _, e := range list {
		if !data.Hashable(e) {
			return nil, fmt.Errorf("%s as a key: %w", data.Repr(e), ErrValue)
		}
		m.Set(e, nil)
	}
	return m, nil
}

func (k key) folder(name any) (title, light, colour string) {
	switch name {
	case "minions":
		return "Accepted Keys", k.lightGreen, k.green
	case "minions_pre":
		return "Unaccepted Keys", k.lightRed, k.red
	case "minions_denied":
		return "Denied Keys", k.lightMagenta, k.magenta
	case "minions_rejected":
		return "Rejected Keys", k.lightBlue, k.blue
	case "local":
		return "Local Keys", k.lightMagenta, k.magenta
	}
	return "", "", ""
}

// ids writes the ids of a directory: those of a list, or those of a map with their texts. Text and
// tuples print nothing.
func (k key) ids(b *strings.Builder, v any, colour string) error {
	m, isMap := v.(*data.Map)
	switch v := v.(type) {
	case *data.Map:
	case string, []byte, data.Tuple:
		return nil
	case []any:
		var err error
		if m, err = asKeys(v); err != nil {
			return err
		}
	default:
		return fmt.Errorf("ids in %T: %w", v, ErrValue)
	}
	ids, ok := sortedKeys(m)
	if !ok {
		return fmt.Errorf("ids: %w", ErrValue)
	}
	for _, id := range ids {
		fmt.Fprintf(b, "%s%s%s", k.indent, colour, k.printable(data.Str(id)))
		if isMap {
			fmt.Fprintf(b, ":  %s", data.Str(m.Value(id)))
		}
		fmt.Fprintf(b, "%s\n", k.normal)
	}
	return nil
}

func (k key) printable(id string) string {
	if k.keepEscapes {
		return id
	}
	return stripEscapes(id)
}
