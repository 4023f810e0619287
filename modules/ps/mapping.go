//go:build linux

package ps

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A mapping is the mapped memory of a file, in kB by the keys of proc_pid_smaps(5).
type mapping struct {
	path  string
	sizes map[string]int64
}

// smaps parses the memory mappings and merges those of the same path. Mappings without a file are
// listed as [anon].
func smaps(text string) []*mapping {
	var list []*mapping
	known := map[string]*mapping{}
	var at *mapping
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if name, ok := strings.CutSuffix(words[0], ":"); ok {
			if n, err := strconv.ParseInt(second(words), 10, 64); err == nil && at != nil {
				at.sizes[name] += n
			}
			continue
		}
		path := mappedPath(line)
		if at = known[path]; at == nil {
			at = &mapping{path, map[string]int64{}}
			known[path] = at
			list = append(list, at)
		}
	}
	return list
}

func second(words []string) string {
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// mappedPath returns the path after the first five words of a mapping's header line.
func mappedPath(line string) string {
	rest := strings.TrimRight(line, "\n")
	for range 5 {
		_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	path := strings.TrimSuffix(strings.TrimSpace(rest), " (deleted)")
	if path == "" {
		return "[anon]"
	}
	return path
}

// bytes returns the sum of some sizes of a mapping, in bytes.
func (m *mapping) bytes(names ...string) int64 {
	n := int64(0)
	for _, name := range names {
		n += m.sizes[name]
	}
	return n * 1024
}

// memoryMaps returns the path and the sizes of each mapping, in the order of psutil's
// pmmap_grouped. It returns nil if they cannot be read.
func (p *process) memoryMaps() any {
	text, err := p.m.read(strconv.FormatInt(p.pid, 10), "smaps")
	if err != nil {
		return nil
	}
	list := []any{}
	for _, m := range smaps(text) {
		row := []any{m.path}
		for _, name := range []string{"Rss", "Size", "Pss", "Shared_Clean", "Shared_Dirty",
			"Private_Clean", "Private_Dirty", "Referenced", "Anonymous", "Swap"} {
			row = append(row, m.bytes(name))
		}
		list = append(list, row)
	}
	return list
}

// memoryFull returns memory_info plus the unique, the proportional and the swapped memory.
func (p *process) memoryFull() any {
	id := strconv.FormatInt(p.pid, 10)
	text, err := p.m.read(id, "smaps_rollup")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = p.m.read(id, "smaps")
	}
	if err != nil {
		return nil
	}
	all := p.memory()
	for name, parts := range data.NewMap("uss", []string{"Private_Clean", "Private_Dirty",
		"Private_Hugetlb"}, "pss", []string{"Pss"}, "swap", []string{"Swap"}).All() {
		n := int64(0)
		for _, m := range smaps(text) {
			n += m.bytes(parts.([]string)...)
		}
		all.Set(name, n)
	}
	return values(all)
}
