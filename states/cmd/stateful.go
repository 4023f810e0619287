package cmd

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// reinterpreted returns the result of a stateful command, whose output tells whether it changed
// anything (salt/states/cmd.py, _reinterpreted_state).
func reinterpreted(ret *data.Map) (*data.Map, error) {
	outcome, _ := ret.Value("changes").(*data.Map)
	ret.Set("changes", &data.Map{})
	ret.Set("comment", "")
	out := outcome.Text("stdout")
	if out == "" {
		if reported := outcome.Value("stderr"); data.Truth(reported) {
			ret.Set("comment", reported)
		}
		return ret, nil
	}
	reported, before, problem := parseStateful(out)
	if problem != "" {
		ret.Set("comment", problem)
		ret.Set("result", false)
		if before {
			ret.Set("changes", outcome)
		}
		return ret, nil
	}
	changed, err := isYes(reported.Value("changed"), reported.Has("changed"))
	if err != nil {
		return nil, err
	}
	if comment, ok := reported.Get("comment"); ok {
		ret.Set("comment", comment)
		reported.Delete("comment")
	}
	if changed {
		ret.Set("changes", changesOf(reported, outcome, before))
	}
	return ret, nil
}

// parseStateful parses the output as JSON or, failing that, its last line as name=value pairs.
// isLine tells which of the two was tried last.
func parseStateful(out string) (reported *data.Map, isLine bool, problem string) {
	if v, err := pyjson.Load(out); err == nil {
		reported, ok := v.(*data.Map)
		if !ok {
			return nil, false, "script JSON output must be a JSON object (e.g., {})!"
		}
		return reported, false, ""
	}
	const unread = "Failed parsing script output! Stdout must be JSON or a line of name=value pairs."
	words, err := process.Words(out[lastLine(out)+1:])
	if err != nil {
		return nil, true, unread
	}
	reported = &data.Map{}
	for _, word := range words {
		pair := strings.Split(word, "=")
		if len(pair) != 2 {
			return nil, true, unread
		}
		reported.Set(pair[0], pair[1])
	}
	return reported, true, ""
}

// lastLine returns the index of the line feed before the last line, or -1.
func lastLine(out string) int {
	return strings.LastIndex(strings.TrimRight(out, " \t\r\n\v\f"),
		"\n")
}

// changesOf merges the command's report into the outcome. JSON output is not shown again; of other
// output the last line is removed.
func changesOf(reported, outcome *data.Map, isLine bool) *data.Map {
	for key, v := range outcome.All() {
		if !reported.Has(key) {
			reported.Set(key, v)
		}
	}
	shown := ""
	if isLine {
		shown = reported.Text("stdout")
		if cut := lastLine(outcome.Text("stdout")); cut >= 0 {
			shown = shown[:min(cut, len(shown))]
		} else if chars := []rune(shown); len(chars) > 0 {
			shown = string(chars[:len(chars)-1])
		}
	}
	reported.Set("stdout", shown)
	return reported
}

func isYes(v any, reported bool) (bool, error) {
	if !reported {
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
