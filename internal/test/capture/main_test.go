package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// fake answers as salt-call does: the name of a directory, its arguments, an error, and an
// exception with a traceback.
const fake = `#!/bin/sh
for word; do fun=$before before=$word; done
case "$*" in
*"file.dirname"*) echo '{"local": "HERE/d"}' ;;
*"test.echo"*) printf '{"local": %s}\n' "$word" ;;
*"test.kwarg"*) printf '{"local": {"b": 1, "a": "%s"}}\n' "${word#*=}" ;;
*"no.such"*) echo "Error running 'no.such': it is not there" >&2; exit 1 ;;
*"test.raise"*) printf 'Traceback (most recent call last):\n  File "x", line 1\nsalt.exceptions.SaltInvocationError: wrong\n' >&2; exit 1 ;;
*) echo "usage" >&2; exit 64 ;;
esac
`

func TestRenew(t *testing.T) {
	dir := t.TempDir()
	program, file := filepath.Join(dir, "salt-call"), filepath.Join(dir, "calls.json")
	here := filepath.Join(dir, "out")
	script := bytes.ReplaceAll([]byte(fake), []byte("HERE"), []byte(here))
	if err := os.WriteFile(program, script, 0o700); err != nil {
		t.Fatal(err)
	}
	const before = `[
  {"fun": "file.dirname", "args": ["OUT/d/x"], "value":   "OUT/d"},
  {"fun": "file.dirname", "args": ["OUT/d/x", "\"value\":"], "value": "old"},
  {"fun": "test.echo", "args": [", \"value\": 1"]},
  {"fun": "test.echo", "args": [[1]], "value": {"$tuple": [1]}},
  {"fun": "test.kwarg", "kwargs": {"a": 5}, "value": null},
  {"fun": "no.such", "error": "salt.exceptions.CommandExecutionError: it is not there"},
  {"fun": "no.such", "value": 1},
  {"fun": "test.raise", "error_begins": "salt.exceptions.SaltInvocationError: wr"},
  {"fun": "test.raise", "error_begins": "TypeError"}
]
`
	const after = `[
  {"fun": "file.dirname", "args": ["OUT/d/x"], "value":   "OUT/d"},
  {"fun": "file.dirname", "args": ["OUT/d/x", "\"value\":"], "value": "OUT/d"},
  {"fun": "test.echo", "args": [", \"value\": 1"], "value": ", \"value\": 1"},
  {"fun": "test.echo", "args": [[1]], "value": {"$tuple": [1]}},
  {"fun": "test.kwarg", "kwargs": {"a": 5}, "value": {"b": 1, "a": "5"}},
  {"fun": "no.such", "error": "salt.exceptions.CommandExecutionError: it is not there"},
  {"fun": "no.such", "error": "salt.exceptions.CommandExecutionError: it is not there"},
  {"fun": "test.raise", "error_begins": "salt.exceptions.SaltInvocationError: wr"},
  {"fun": "test.raise", "error": "salt.exceptions.SaltInvocationError: wrong"}
]
`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"9 cases, 5 changed", "9 cases, 0 changed"} {
		var out bytes.Buffer
		if err := run([]string{"-salt", program, "-name", "OUT=" + here, file}, &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != file+": "+want+"\n" {
			t.Errorf("said %q, want %s", got, want)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != after {
			t.Fatalf("the file is\n%s%v", got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "salt-call")
	if err := os.WriteFile(program, []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no answer":                     `[{"fun": "other.thing"}]`,
		"an argument that nobody types": `[{"fun": "test.echo", "args": [{"$bytes": "eA=="}]}]`,
		"no list":                       `{}`,
	} {
		file := filepath.Join(dir, "calls.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"-salt", program, file}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%s: the file has changed to %s", name, got)
		}
	}
	if err := run([]string{"x"}, &bytes.Buffer{}); err == nil {
		t.Error("without -salt: no error")
	}
}
