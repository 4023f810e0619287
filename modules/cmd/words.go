package cmd

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// split splits a command that goes to no shell into words.
func split(_ context.Context, j *job) error {
	if j.useShell || !splitsWords {
		return nil
	}
	switch words := j.cmd.(type) {
	case []any:
		j.cmd = withTexts(words)
		return nil
	case data.Tuple:
		return nil
	}
	words, err := splitWords(data.Str(j.cmd))
	if err != nil {
		return err
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	j.cmd = list
	return nil
}

// wordsOf returns the words of a command that is a list or a tuple.
func wordsOf(cmd any) (words []any, ok bool) {
	switch cmd := cmd.(type) {
	case []any:
		return cmd, true
	case data.Tuple:
		return cmd, true
	}
	return nil, false
}

// withTexts converts words that are containers to text. Dictionaries of an SLS print as Python's
// OrderedDict.
func withTexts(words []any) []any {
	out := slices.Clone(words)
	for i, w := range words {
		switch w.(type) {
		case *data.Map, []any, data.Tuple:
			out[i] = data.ClassText(w)
		}
	}
	return out
}

// splitWords splits like Python's shlex.split; the errors are its ValueErrors.
func splitWords(s string) ([]string, error) {
	words, err := process.Words(s)
	if err != nil {
		return nil, loader.Exception("ValueError", "%s", err.Error())
	}
	return words, nil
}

// quoteWord quotes a word for a shell, like Python's shlex.quote.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) ||
			strings.ContainsRune("_@%+=:,./-", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// firstWord returns the part of a command that may be logged. For commands without words the errors
// are Python's.
func firstWord(cmd any) (string, error) {
	words, ok := wordsOf(cmd)
	if !ok {
		fields := strings.FieldsFunc(data.Str(cmd), isSpace)
		if len(fields) == 0 {
			return "", noWords()
		}
		return fields[0], nil
	}
	if len(words) == 0 {
		return "", noWords()
	}
	word, ok := words[0].(string)
	if !ok {
		return "", loader.Exception("AttributeError", "'%s' object has no attribute 'strip'",
			loader.TypeName(words[0]))
	}
	return strings.TrimFunc(word, isSpace), nil
}

func noWords() error { return loader.Exception("IndexError", "list index out of range") }

// checkTexts rejects words and variables that no program can receive.
func checkTexts(_ context.Context, j *job) error {
	words := []string{data.Str(j.cmd)}
	if list, ok := wordsOf(j.cmd); ok {
		words = data.Texts(list)
		if len(words) == 0 && !j.useShell {
			return noWords()
		}
	}
	for k, v := range j.env.All() {
		if name := k.(string); name == "" || strings.Contains(name, "=") {
			return loader.Exception("ValueError", "illegal environment variable name")
		}
		words = append(words, k.(string), v.(string))
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "\x00") }) {
		return loader.Exception("ValueError", "embedded null byte")
	}
	return nil
}

// input returns the standard input of the command, or nil for none.
func (j *job) input() io.Reader {
	if j.stdin == nil {
		return nil
	}
	text := data.Str(j.stdin)
	if !j.raw {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	return strings.NewReader(text)
}

// isSpace reports whether Python's str.strip removes a character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func rstrip(s string) string { return strings.TrimRightFunc(s, isSpace) }
