package serializers

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/payload"
)

func typeOf(v any) string { return loader.TypeName(v) }

// writeMsgpack writes MessagePack that distinguishes text from bytes.
func writeMsgpack(v any, o *options) (any, error) {
	if o.truth("use_bin_type", true) {
		return payload.MarshalBin(v)
	}
	return payload.Marshal(v)
}

func readMsgpack(v any, _ *options) (any, error) {
	raw, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("a bytes-like object is required, not '%s'", typeOf(v))
	}
	return payload.UnmarshalText(raw, payload.WireLimits())
}

// writePython writes the JSON form of a value as pprint does.
func writePython(v any, o *options) (any, error) {
	text, err := writeJSON(v, &options{})
	if err != nil {
		return nil, err
	}
	plain, err := pyjson.Load(text.(string))
	if err != nil {
		return nil, err
	}
	return output.Pretty(output.Options{Indent: o.get("indent", output.NoIndent{})}).Format(plain)
}

// writePairs writes KEY=value lines of a dictionary, or of a list of pairs.
func writePairs(v any, o *options) (any, error) {
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	if own := o.get("line_ending", nil); data.Truth(own) {
		end = data.Str(own)
	}
	between, quoted := data.Str(o.get("separator", "=")), o.truth("quoting", false)
	pairs, err := pairsOf(v)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(pairs))
	for i, p := range pairs {
		value := data.Str(p[1])
		if quoted {
			text, isText := p[1].(string)
			if !isText {
				return nil, fmt.Errorf("expected string or bytes-like object, got '%s'",
					typeOf(p[1]))
			}
			value = shellQuoted(text)
		}
		lines[i] = data.Str(p[0]) + between + value
	}
	o.ignored()
	return strings.Join(lines, end), nil
}

func pairsOf(v any) ([][2]any, error) {
	var pairs [][2]any
	list, isList := v.([]any)
	if t, ok := v.(data.Tuple); ok {
		list, isList = t, true
	}
	m, isMap := v.(*data.Map)
	if !isList && !isMap {
		return nil, errors.New("Input validation failed. Iterable required.") //nolint:staticcheck // Salt's text
	}
	for k, v := range m.All() {
		pairs = append(pairs, [2]any{k, v})
	}
	for _, item := range list {
		pair, _ := item.([]any)
		switch item := item.(type) {
		case data.Tuple:
			pair = item
		case string: // two letters are a pair, too
			for _, r := range item {
				pair = append(pair, string(r))
			}
		}
		switch {
		case len(pair) > 2:
			return nil, errors.New("too many values to unpack (expected 2)")
		case len(pair) < 2:
			return nil, fmt.Errorf("not enough values to unpack (expected 2, got %d)", len(pair))
		}
		pairs = append(pairs, [2]any(pair))
	}
	return pairs, nil
}

// shellQuoted quotes a text for the shell, as Python's shlex.quote does.
func shellQuoted(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

// readPairs reads KEY=value lines. With quoting: False it removes quotes around values.
func readPairs(v any, o *options) (any, error) {
	text, err := textOf(v)
	if err != nil {
		return nil, err
	}
	between, bare := data.Str(o.get("separator", "=")), o.get("quoting", nil) == false
	if between == "" {
		return nil, errors.New("empty separator")
	}
	out := data.NewMap()
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), between)
		if !ok {
			return nil, errors.New("not enough values to unpack (expected 2, got 1)")
		}
		if n := len(value); bare && n > 1 && value[0] == value[n-1] &&
			(value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		out.Set(key, value)
	}
	return out, nil
}
