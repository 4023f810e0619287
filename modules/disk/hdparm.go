//go:build linux

package disk

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type hdparmsArgs struct {
	Disks any
	Args  any `default:"None"`
}

// hdparms returns the parameters of disks as reported by hdparm.
//
// args
//
//	Letters of hdparm options. Default: all that only query.
//
// CLI Example:
//
//	salt '*' disk.hdparms /dev/sda
func (m *module) hdparms(ctx context.Context, a hdparmsArgs) (any, error) {
	if err := needs("hdparm"); err != nil {
		return nil, err
	}
	return m.parameters(ctx, a)
}

func (m *module) parameters(ctx context.Context, a hdparmsArgs) (*data.Map, error) {
	letters := "aAbBcCdgHiJkMmNnQrRuW"
	if list, ok := a.Args.([]any); ok {
		letters = ""
		for _, v := range list {
			letters += data.Str(v)
		}
	} else if a.Args != nil {
		letters = data.Str(a.Args)
	}
	disks, ok := a.Disks.([]any)
	if !ok {
		disks = []any{a.Disks}
	}
	all := data.NewMap()
	for _, v := range disks {
		disk := data.Str(v)
		if !strings.HasPrefix(disk, "/dev") {
			disk = "/dev/" + disk
		}
		out, err := m.hdparm(ctx, false, "-"+letters, disk)
		if err != nil {
			return nil, err
		}
		all.Set(disk, parameters(out, disk))
	}
	return all, nil
}

// hdparm runs the program and returns its output. A failure is an error only if hard is true.
func (m *module) hdparm(ctx context.Context, hard bool, args ...string) (string, error) {
	out, err := m.run(ctx, append([]string{"hdparm"}, args...)...)
	if err != nil || out.Retcode == 0 {
		return out.Stdout, err
	}
	text := "hdparm " + strings.Join(args, " ") + ": " + out.Stderr
	if hard {
		return "", loader.Execution("%s", text)
	}
	m.env.Log.Warn(text)
	return out.Stdout, nil
}

// parameters parses hdparm's output for a disk.
func parameters(text, disk string) *data.Map {
	all := data.NewMap()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line == disk+":" {
			continue
		}
		key, rest, ok := strings.Cut(line, ":")
		key = strings.TrimSuffix(key, " is")
		if !ok {
			if key, rest, ok = strings.Cut(line, "="); !ok {
				continue
			}
		}
		if v, ok := parameter(strings.TrimSpace(rest)); ok {
			all.Set(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), " ", "_"), v)
		}
	}
	return all
}

// parameter parses a value of hdparm: a number with its meaning, or words separated by slashes and
// commas.
func parameter(text string) (any, bool) {
	if regexp.MustCompile(`^[0-9]+ \(.*\)`).MatchString(text) {
		number, meaning, _ := strings.Cut(text, " ")
		word, _, _ := strings.Cut(meaning, " ")
		return []any{integer(number), strings.Trim(word, "()")}, true
	}
	list, named := []any{}, data.NewMap()
	for _, word := range strings.FieldsFunc(text,
		func(r rune) bool { return r == '/' || r == ',' }) {
		word = strings.TrimSpace(word)
		key, v, isNamed := strings.Cut(word, "=")
		switch {
		case word == "":
		case isNamed && strings.TrimSpace(v) != "":
			named.Set(strings.TrimSpace(key), strings.TrimSpace(v))
		case !isNamed:
			list = append(list, integer(word))
		}
	}
	if named.Len() > 0 {
		list = append(list, named)
	}
	if len(list) == 1 {
		return list[0], true
	}
	return list, len(list) > 0
}

// integer converts a string to a number if it is one.
func integer(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return s
}

type hpaArgs struct {
	Disks any
	Size  any `default:"None"`
}

// hpa returns how many sectors of disks are hidden. With a size it hides that many sectors, or that
// share. This can destroy data.
//
// CLI Example:
//
//	salt '*' disk.hpa /dev/sda
//	salt '*' disk.hpa /dev/sda 5%
//	salt '*' disk.hpa /dev/sda 10543256
func (m *module) hpa(ctx context.Context, a hpaArgs) (any, error) {
	if err := needs("hdparm"); err != nil {
		return nil, err
	}
	found, err := m.parameters(ctx, hdparmsArgs{a.Disks, "N"})
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for disk, v := range found.All() {
		if area, ok := hidden(v); ok {
			all.Set(disk, area)
		}
	}
	if a.Size == nil {
		return all, nil
	}
	for disk, v := range all.All() {
		left, err := visible(v.(*data.Map).Value("total").(int64), a.Size)
		if err != nil {
			return nil, err
		}
		if _, err := m.hdparm(ctx, true, "--yes-i-know-what-i-am-doing",
			"-Np"+strconv.FormatInt(left, 10), data.Str(disk)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// hidden parses the sectors of a disk: the visible ones, all, and a comment.
func hidden(v any) (*data.Map, bool) {
	m, _ := v.(*data.Map)
	if m.Len() == 0 {
		return nil, false
	}
	_, first := m.At(0)
	list, _ := first.([]any)
	if len(list) < 3 {
		return nil, false
	}
	seen, ok1 := list[0].(int64)
	total, ok2 := list[1].(int64)
	switch {
	case !ok1 || !ok2:
		return nil, false
	case seen == total || strings.Contains(data.Str(list[2]), "disabled"):
		return data.NewMap("total", total), true
	}
	return data.NewMap("total", total, "visible", seen, "hidden", total-seen), true
}

// visible returns how many of the sectors remain visible if size, a number or a share, are hidden.
func visible(total int64, size any) (int64, error) {
	share, isShare := strings.CutSuffix(data.Str(size), "%")
	n, err := strconv.ParseInt(share, 10, 64)
	if err != nil {
		return 0, loader.Invocation("size is neither a number nor a percentage: %s", data.Str(size))
	}
	left := total - n
	if isShare {
		left = int64(float64(100-n) / 100 * float64(total))
	}
	if left <= 0 {
		return total, nil
	}
	return left, nil
}
