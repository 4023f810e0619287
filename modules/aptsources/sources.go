package aptsources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
)

// dropDir is the directory of additional sources files.
const dropDir = "/etc/apt/sources.list.d"

// A sources is all sources of the system in the order in which apt reads them.
type sources struct {
	entries []*entry
	read    map[string]string // the text of each file as it was read
}

// load reads all sources files. Missing files count as empty.
func (m *module) load() (*sources, error) {
	s := &sources{read: map[string]string{}}
	dir, err := os.ReadDir(m.path(dropDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the sources files: %w", err)
	}
	files := []string{mainFile}
	for _, f := range dir {
		if ext := filepath.Ext(f.Name()); !f.IsDir() && (ext == ".list" || ext == ".sources") {
			files = append(files, dropDir+"/"+f.Name())
		}
	}
	for _, file := range files {
		if err := s.add(m.path(file), file); err != nil {
			return nil, fmt.Errorf("read sources: %w", err)
		}
	}
	return s, nil
}

// add reads one file, located at path.
func (s *sources) add(path, file string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.read[file] = string(text)
	s.entries = append(s.entries, parse(string(text), file)...)
	return nil
}

func parse(text, file string) []*entry {
	if stanzas(file) {
		return parseStanzas(text, file)
	}
	var entries []*entry
	for line := range strings.Lines(text) {
		entries = append(entries, parseLine(line, file))
	}
	return entries
}

// stanzas reports whether a file has stanzas instead of lines.
func stanzas(file string) bool { return filepath.Ext(file) == ".sources" }

// valid returns the entries that are sources.
func (s *sources) valid() []*entry {
	return slices.DeleteFunc(slices.Clone(s.entries), func(e *entry) bool { return e.invalid })
}

// remove removes an entry.
func (s *sources) remove(e *entry) {
	s.entries = slices.DeleteFunc(s.entries, func(o *entry) bool { return o == e })
}

// text returns the new content of a file.
func (s *sources) text(file string) string {
	var b strings.Builder
	done := map[*stanza]bool{}
	for _, e := range s.entries {
		switch {
		case e.file != file:
		case !stanzas(file):
			end(&b, 1)
			b.WriteString(e.lineText())
		case e.invalid:
			b.WriteString(e.text)
		case e.stanza == nil:
			end(&b, 2)
			b.WriteString(stanzaText(nil, e, []string{e.kind}, []string{e.uri}, []string{e.dist}))
		case !done[e.stanza]:
			done[e.stanza] = true
			b.WriteString(e.stanza.text(s.of(e.stanza, file)))
		}
	}
	return b.String()
}

// end makes a text that is not empty end with the given number of line feeds.
func end(b *strings.Builder, feeds int) {
	have := len(b.String()) - len(strings.TrimRight(b.String(), "\n"))
	if b.Len() > 0 && have < feeds {
		b.WriteString(strings.Repeat("\n", feeds-have))
	}
}

func (e *entry) lineText() string {
	if e.invalid || !e.changed && e.stanza == nil {
		return e.text
	}
	return e.line() + "\n"
}

// of returns the remaining sources of a stanza in a file.
func (s *sources) of(st *stanza, file string) []*entry {
	return slices.DeleteFunc(slices.Clone(s.entries),
		func(e *entry) bool { return e.stanza != st || e.file != file })
}

// text returns the stanzas for the remaining sources of one stanza. Sources that did not change
// stay together if possible.
func (s *stanza) text(left []*entry) string {
	rest := slices.DeleteFunc(slices.Clone(left), func(e *entry) bool { return e.changed })
	if len(rest) == len(s.sources) {
		return rest[0].text
	}
	var parts []string
	types, uris, suites := distinct(rest)
	if len(types)*len(uris)*len(suites) == len(rest) && len(rest) > 0 {
		parts, rest = append(parts, stanzaText(s, rest[0], types, uris, suites)), nil
	}
	for _, e := range left {
		if e.changed || slices.Contains(rest, e) {
			parts = append(parts, stanzaText(s, e, []string{e.kind}, []string{e.uri},
				[]string{e.dist}))
		}
	}
	return strings.Join(parts, "\n") + s.tail
}

// distinct returns the distinct types, URIs and suites of sources.
func distinct(entries []*entry) (types, uris, suites []string) {
	for _, e := range entries {
		types, uris, suites = with(types, e.kind), with(uris, e.uri), with(suites, e.dist)
	}
	return types, uris, suites
}

func with(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// save writes the files whose content changed. A file in the directory that becomes empty is
// removed.
func (m *module) save(s *sources) error {
	var files []string
	for file := range s.read {
		files = append(files, file)
	}
	for _, e := range s.entries {
		files = with(files, e.file)
	}
	slices.Sort(files)
	for _, file := range files {
		if err := m.saveFile(s, file); err != nil {
			return fmt.Errorf("write sources: %w", err)
		}
	}
	return nil
}

func (m *module) saveFile(s *sources, file string) error {
	text := s.text(file)
	was, there := s.read[file]
	switch {
	case there && text == was:
		return nil
	case strings.TrimSpace(text) == "" && filepath.Dir(file) == dropDir:
		return os.Remove(m.path(file))
	}
	path := m.path(file)
	return atomicfile.Write(path, []byte(text), atomicfile.Options{Follow: true, Mode: 0o644, Keep: true})
}
