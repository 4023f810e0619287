//go:build linux

package disk

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type flagArgs struct {
	Args any `default:"None"`
}

// flags returns the additional options for df.
func (a flagArgs) flags(caller string) ([]string, error) {
	var letters []string
	switch v := a.Args.(type) {
	case nil:
		return nil, nil
	case string:
		letters = strings.Split(v, "")
	case []any:
		for _, one := range v {
			letters = append(letters, data.Str(one))
		}
	default:
		return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
	}
	for _, f := range letters {
		if !slices.Contains([]string{"a", "B", "h", "H", "i", "k", "l", "P", "t", "T", "x", "v"}, f) {
			return nil, loader.Execution("Invalid flag passed to %s", caller)
		}
	}
	if len(letters) == 0 {
		return nil, nil
	}
	return []string{"-" + strings.Join(letters, "")}, nil
}

// usage returns the sizes of the mounted file systems by mount point.
//
// args
//
//	Letters of df options.
//
// CLI Example:
//
//	salt '*' disk.usage
func (m *module) usage(ctx context.Context, a flagArgs) (any, error) {
	flags, err := a.flags("disk.usage")
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(filepath.Join(m.env.Root, "/etc/mtab")); err != nil ||
		!info.Mode().IsRegular() {
		m.env.Log.Error("df cannot run without /etc/mtab")
		return data.NewMap(), nil
	}
	out, err := m.run(ctx, append([]string{"df", "-P"}, flags...)...)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for _, row := range rows(out.Stdout) {
		all.Set(row[5], data.NewMap("filesystem", row[0], "1K-blocks", row[1], "used", row[2],
			"available", row[3], "capacity", row[4]))
	}
	return all, nil
}

// rows parses the table of df: six columns, of which the first may contain blanks.
func rows(text string) (table [][]string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "Filesystem") {
			continue
		}
		for len(words) >= 2 && !digits(words[1]) {
			words = append([]string{words[0] + " " + words[1]}, words[2:]...)
		}
		if len(words) >= 6 {
			table = append(table, words)
		}
	}
	return table
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// inodeusage returns the inode usage of the file systems by mount point.
//
// args
//
//	Letters of df options.
//
// CLI Example:
//
//	salt '*' disk.inodeusage
func (m *module) inodeusage(ctx context.Context, a flagArgs) (any, error) {
	flags, err := a.flags("disk.inodeusage")
	if err != nil {
		return nil, err
	}
	out, err := m.run(ctx, append([]string{"df", "-iP"}, flags...)...)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for line := range strings.Lines(out.Stdout) {
		row := strings.Fields(line)
		if !strings.HasPrefix(line, "Filesystem") && len(row) >= 6 {
			all.Set(row[5], data.NewMap("inodes", row[1], "used", row[2], "free", row[3],
				"use", row[4], "filesystem", row[0]))
		}
	}
	return all, nil
}

// percent returns the usage of the file systems in percent, or of one if it is mounted at the given
// directory.
//
// CLI Example:
//
//	salt '*' disk.percent /var
func (m *module) percent(ctx context.Context, a flagArgs) (any, error) {
	out, err := m.run(ctx, "df", "-P")
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for _, row := range rows(out.Stdout) {
		all.Set(row[5], row[4])
	}
	if !data.Truth(a.Args) {
		return all, nil
	}
	v, ok := all.Get(a.Args)
	if !ok {
		m.env.Log.Errorf("Problem parsing disk usage information: Partition '%s' does not exist!",
			data.Str(a.Args))
		return data.NewMap(), nil
	}
	return v, nil
}
