package xfs

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// geometry reads what xfs_info and mkfs.xfs print: sections, and lines that begin with = for more of a
// section.
func geometry(text string) *data.Map {
	all, section := &data.Map{}, (*data.Map)(nil)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(strings.Join(strings.Fields(line), " "), ", ", " ")
		if !strings.Contains(line, "=") {
			continue
		}
		pairs := settings(line)
		if !strings.HasPrefix(line, "=") {
			name := pairs[0][1]
			if name == "***" {
				name = pairs[0][0]
			}
			section = data.NewMap("section", name)
			all.Set(pairs[0][0], section)
			pairs = pairs[1:]
		}
		if section == nil {
			continue
		}
		for _, pair := range pairs {
			section.Set(pair[0], pair[1])
		}
	}
	return all
}

// settings returns the settings of a line. A name has no blanks, a value may; *** stands for none.
func settings(line string) [][2]string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "="))
	line = strings.ReplaceAll(strings.ReplaceAll(line, " = ", "=*** "), " =", "=")
	var items []string
	for _, word := range strings.Split(line, " ") {
		if len(items) == 0 || strings.Contains(word, "=") {
			items = append(items, word)
		} else {
			items[len(items)-1] += " " + word
		}
	}
	var pairs [][2]string
	for _, item := range items {
		name, value, _ := strings.Cut(item, "=")
		value, _, _ = strings.Cut(value, "=")
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs
}

// dumped reads what xfsdump prints. The lines of the summary are indented.
func dumped(text string) *data.Map {
	all := &data.Map{}
	var summary []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimPrefix(strings.TrimSpace(line), "xfsdump: ")
		inside = line == "Dump Summary:" || inside && strings.HasPrefix(line, " ")
		if inside && strings.HasPrefix(line, " ") {
			summary = append(summary, strings.TrimSpace(line))
		}
		for _, item := range [][2]string{{"session id:", "Session ID"}, {"session label:", "Session label"},
			{"media file size", "Media size"}, {"dump complete:", "Dump complete"}, {"Dump Status:",
				"Status"}} {
			if value, ok := strings.CutPrefix(line, item[0]); ok {
				all.Set(item[1], strings.TrimLeft(value, " \t"))
			}
		}
	}
	if len(summary) > 0 {
		all.Set("Summary", strings.Join(summary, " "))
	}
	return all
}

// inventoried reads what xfsrestore -I prints: names with a colon open a level, in the depth of their
// tabs. A name in a smaller depth closes all levels but the first, as in Salt.
func inventoried(text string) *data.Map {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return &data.Map{}
	}
	last := lines[len(lines)-1]
	all := &data.Map{}
	levels, depth := []*data.Map{all}, 0
	for _, line := range lines[:len(lines)-1] {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if value != "" {
			levels[len(levels)-1].Set(key, value)
			continue
		}
		if tabs := strings.Count(line, "\t"); depth > tabs {
			levels = levels[:max(1, len(levels)-depth)]
			depth = tabs
		} else {
			depth = tabs
		}
		inner := &data.Map{}
		levels[len(levels)-1].Set(key, inner)
		levels = append(levels, inner)
	}
	all.Set("restore_status", last)
	return all
}

// pruned reads what xfsinvutil prints between two lines of dashes, without the first line.
func pruned(text string) *data.Map {
	all, inside, first := &data.Map{}, false, true
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "-") && inside:
			return all
		case strings.HasPrefix(line, "-"):
			inside = true
		case !inside || line == "":
		case first:
			first = false
		case ok:
			all.Set(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), " ", "_"),
				strings.TrimSpace(value))
		}
	}
	return all
}

// blocks returns the devices of the kind XFS that blkid reports.
func blocks(text string) *data.Map {
	all := &data.Map{}
	for block := range strings.SplitSeq(text, "\n\n") {
		device := &data.Map{}
		for line := range strings.SplitSeq(block, "\n") {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				device.Set(strings.ToLower(key), value)
			}
		}
		name, kind := device.Value("devname"), device.Value("type")
		if kind != "xfs" || name == nil {
			continue
		}
		device.Delete("devname")
		device.Delete("type")
		device.Set("label", device.Value("label"))
		all.Set(name, device)
	}
	return all
}

// estimated reads the table that xfs_estimate prints. The name of the second column is Salt's.
func estimated(text string) *data.Map {
	all, header := &data.Map{}, true
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case header:
			header = false
		case len(words) == 5:
			all.Set(words[0], data.NewMap("block _size", words[1], "blocks", words[2], "megabytes", words[3],
				"logsize", words[4]))
		}
	}
	return all
}
