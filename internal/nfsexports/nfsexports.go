// Package nfsexports reads and changes the text of /etc/exports, as exports(5) describes it: lines that
// end with a backslash go on, # begins a comment, and a word with a dash has options for the clients
// after it.
package nfsexports

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// An export is an entry: directories, and the clients that may mount them.
type export struct {
	paths   []string
	clients []any // dictionaries with hosts and options
	plain   bool  // a client at its end is one more
}

// Parse returns the clients of each directory: dictionaries with hosts and a list of options.
func Parse(text string) *data.Map {
	all := &data.Map{}
	for _, entry := range entries(text) {
		if e, ok := parse(entry); ok {
			clients := append(data.ListOf(all.Value(e.paths[0])), e.clients...)
			for _, path := range e.paths {
				all.Set(path, append([]any{}, clients...))
			}
		}
	}
	return all
}

// entries returns the lines of a text with their ends, each with those that continue it.
func entries(text string) []string {
	var all []string
	begun := ""
	for line := range strings.Lines(text) {
		begun += line
		if !strings.HasSuffix(line, "\\\n") {
			all, begun = append(all, begun), ""
		}
	}
	if begun != "" {
		all = append(all, begun)
	}
	return all
}

var continued = regexp.MustCompile(`\\\n[ \t]*`)

// words returns the words of an entry as they are in the file, and its comment. Words in quotes may hold
// blanks.
func words(entry string) (words []string, comment string) {
	entry = strings.TrimSpace(continued.ReplaceAllString(entry, " "))
	for entry != "" && entry[0] != '#' {
		quoted := false
		end := strings.IndexFunc(entry, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return !quoted && strings.ContainsRune(" \t\r\v\f\n", r)
		})
		if end < 0 {
			end = len(entry)
		}
		words = append(words, entry[:end])
		entry = strings.TrimSpace(entry[end:])
	}
	return words, entry
}

var octal = regexp.MustCompile(`\\[0-3][0-7]{2}`)

// path returns the directory that a word names.
func path(word string) string {
	return octal.ReplaceAllStringFunc(strings.ReplaceAll(word, `"`, ""), func(code string) string {
		n, _ := strconv.ParseUint(code[1:], 8, 8) //nolint:errcheck // three digits of a byte
		return string([]byte{byte(n)})
	})
}

// isPath reports whether a word of an entry names a directory. As in Salt, one has several.
func isPath(i int, word string) bool { return i == 0 || strings.HasPrefix(path(word), "/") }

// parse returns the export of an entry; ok is false for one without any.
func parse(entry string) (e export, ok bool) {
	words, comment := words(entry)
	var defaults []string
	for i, word := range words {
		switch {
		case isPath(i, word):
			e.paths = append(e.paths, path(word))
		case strings.HasPrefix(word, "-"):
			defaults = strings.Split(word[1:], ",")
		default:
			hosts, text, given := strings.Cut(word, "(")
			text, _, _ = strings.Cut(text, "(")
			options := slices.Clone(defaults)
			if given {
				options = append(options, strings.Split(strings.ReplaceAll(text, ")", ""), ",")...)
			}
			list := data.Values(options)
			if list == nil {
				list = []any{}
			}
			e.clients = append(e.clients, data.NewMap("hosts", hosts, "options", list))
		}
	}
	e.plain = len(e.paths) == 1 && defaults == nil && comment == "" && !strings.ContainsAny(entry, `\"`)
	return e, len(words) > 0
}

// Without returns a text without the export of a directory. An entry with other directories keeps those.
func Without(text, directory string) string {
	var kept strings.Builder
	for _, entry := range entries(text) {
		e, ok := parse(entry)
		if !ok || !slices.Contains(e.paths, directory) {
			kept.WriteString(entry)
			continue
		}
		list, comment := words(entry)
		rest, others := []string{}, 0
		for i, word := range list {
			switch {
			case !isPath(i, word):
				rest = append(rest, word)
			case path(word) != directory:
				rest, others = slices.Insert(rest, others, word), others+1
			}
		}
		if others > 0 {
			kept.WriteString(strings.TrimSpace(strings.Join(rest, " ")+" "+comment) + "\n")
		}
	}
	return kept.String()
}

// With returns a text in which a directory is exported to more hosts: in the entry of the directory
// alone, or else in a new one. The words are those that Check accepts.
func With(text, directory, hosts string, options []string) string {
	client := hosts + "(" + strings.Join(options, ",") + ")"
	all := entries(text)
	for i, entry := range all {
		if e, ok := parse(entry); ok && e.plain && e.paths[0] == directory {
			all[i] = strings.TrimRight(entry, " \t\r\n") + " " + client + "\n"
			return strings.Join(all, "")
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if strings.HasSuffix(text, "\\\n") { // the last line would go on
		text += "\n"
	}
	return text + directory + " " + client + "\n"
}

// Options returns a list of options. A text has commas between them.
func Options(v any) []string {
	list := data.TextsOf(v)
	if text, ok := v.(string); ok {
		list = []string{text}
	}
	var all []string
	for _, text := range list {
		for option := range strings.SplitSeq(text, ",") {
			if option != "" {
				all = append(all, option)
			}
		}
	}
	return all
}

// Check returns an error for a directory, hosts or options that would be other words of an entry.
func Check(directory, hosts string, options []string) error {
	for _, word := range append([]string{directory, hosts}, options...) {
		if strings.ContainsAny(word, " \t\r\n\v\f\x00()#\"\\") {
			return fmt.Errorf("export %s: '%s' is not one word", directory, word)
		}
	}
	switch {
	case !strings.HasPrefix(directory, "/"):
		return fmt.Errorf("export %s: it does not begin with a slash", directory)
	case strings.HasPrefix(hosts, "-"), strings.HasPrefix(hosts, "/"):
		return fmt.Errorf("export %s: '%s' is no name of hosts", directory, hosts)
	}
	return nil
}
