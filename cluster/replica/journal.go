package replica

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A journal is a file with the names of entries that wait: a line each, in base64. The line * stands
// for any number of others.
type journal struct {
	path  string
	file  *os.File
	lines int
	all   bool // has the line *
}

const everything = "*"

// openJournal opens or makes the file and returns what it has.
func openJournal(path string) (j *journal, names []string, all bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, fmt.Errorf("read the names that wait: %w", err)
	}
	names, all = readJournal(string(text))
	j = &journal{path: path}
	if err := j.replace(names, all); err != nil {
		return nil, nil, false, err
	}
	return j, names, all, nil
}

// readJournal returns each name once. A last line without an end was cut off by a crash, before the
// entry changed.
func readJournal(text string) (names []string, all bool) {
	known := map[string]bool{}
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return names, all
		}
		text = rest
		if line == everything {
			all = true
			continue
		}
		name, err := base64.RawURLEncoding.Strict().DecodeString(line)
		if err == nil && len(name) > 0 && !known[string(name)] {
			known[string(name)] = true
			names = append(names, string(name))
		}
	}
}

func encode(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) + "\n" }

func (j *journal) add(name string) error {
	j.lines++
	_, err := j.file.WriteString(encode(name))
	return err
}

// addAll adds the line *.
func (j *journal) addAll() error {
	if j.all {
		return nil
	}
	if _, err := j.file.WriteString(everything + "\n"); err != nil {
		return err
	}
	j.all = true
	return nil
}

// replace writes the file anew.
func (j *journal) replace(names []string, all bool) error {
	j.lines, j.all = len(names), all
	if j.file != nil && len(names) == 0 && !all {
		return j.file.Truncate(0)
	}
	var text strings.Builder
	if all {
		text.WriteString(everything + "\n")
	}
	for _, name := range names {
		text.WriteString(encode(name))
	}
	if err := atomicfile.Write(j.path, []byte(text.String()), atomicfile.Options{}); err != nil {
		return fmt.Errorf("write the names that wait: %w", err)
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the names that wait: %w", err)
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file = file
	return nil
}

func (j *journal) close() error { return j.file.Close() }
