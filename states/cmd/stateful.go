package cmd

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
)

// reinterpreted returns the result of a command that says itself, in its output, whether it changed anything
// (salt/states/cmd.py, _reinterpreted_state).
func reinterpreted(ret *data.Map) (*data.Map, error) {
	outcome, _ := ret.Value("changes").(*data.Map)
	ret.Set("changes", &data.Map{})
	ret.Set("comment", "")
	out := outcome.Text("stdout")
	if out == "" {
		if said := outcome.Value("stderr"); data.Truth(said) {
			ret.Set("comment", said)
		}
		return ret, nil
	}
	said, before, problem := sayings(out)
	if problem != "" {
		ret.Set("comment", problem)
		ret.Set("result", false)
		if before {
			ret.Set("changes", outcome)
		}
		return ret, nil
	}
	changed, err := isYes(said.Value("changed"), said.Has("changed"))
	if err != nil {
		return nil, err
	}
	if comment, ok := said.Get("comment"); ok {
		ret.Set("comment", comment)
		said.Delete("comment")
	}
	if changed {
		ret.Set("changes", changesOf(said, outcome, before))
	}
	return ret, nil
}

// sayings reads JSON, or the last line of name=value pairs; isLine tells which of both was tried last.
func sayings(out string) (said *data.Map, isLine bool, problem string) {
	if v, err := render.LoadJSON(out); err == nil {
		said, ok := v.(*data.Map)
		if !ok {
			return nil, false, "script JSON output must be a JSON object (e.g., {})!"
		}
		return said, false, ""
	}
	const unread = "Failed parsing script output! Stdout must be JSON or a line of name=value pairs."
	words, err := process.Words(out[lastLine(out)+1:])
	if err != nil {
		return nil, true, unread
	}
	said = &data.Map{}
	for _, word := range words {
		pair := strings.Split(word, "=")
		if len(pair) != 2 {
			return nil, true, unread
		}
		said.Set(pair[0], pair[1])
	}
	return said, true, ""
}

// lastLine returns where the line feed before the last line stands, -1 when there is none.
func lastLine(out string) int { return strings.LastIndex(strings.TrimRight(out, " \t\r\n\v\f"), "\n") }

// changesOf joins what a command said to what is known of it. Output in JSON is not shown again, of other output the last line is
// taken off.
func changesOf(said, outcome *data.Map, isLine bool) *data.Map {
	for key, v := range outcome.All() {
		if !said.Has(key) {
			said.Set(key, v)
		}
	}
	shown := ""
	if isLine {
		shown = said.Text("stdout")
		if cut := lastLine(outcome.Text("stdout")); cut >= 0 {
			shown = shown[:min(cut, len(shown))]
		} else if chars := []rune(shown); len(chars) > 0 {
			shown = string(chars[:len(chars)-1])
		}
	}
	said.Set("stdout", shown)
	return said
}

func isYes(v any, said bool) (bool, error) {
	if !said {
		return false, nil
	}
	switch text := strings.ToLower(data.Str(v)); text {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, loader.Exception("ValueError", "Failed parsing boolean value: %s", data.Str(v))
}
