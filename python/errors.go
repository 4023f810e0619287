package python

import (
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// failure returns the error for the message error: class, text and details of an exception.
func failure(message []any) error {
	if len(message) != 3 {
		return errors.New("error of the Python process without details")
	}
	class, text := data.Str(message[0]), data.Str(message[1])
	details, _ := message[2].(*data.Map)
	if code, ok := details.Value("code").(int64); ok {
		return &loader.ExitError{Code: int(code)}
	}
	kinds := data.TextsOf(details.Value("kinds"))
	e := loader.Error{Kind: loader.KindException, Class: class, Text: text, Info: details.Value("info")}
	for _, k := range []struct {
		class string
		kind  loader.Kind
	}{
		{"CommandNotFoundError", loader.KindNotFound}, {"CommandExecutionError", loader.KindExecution},
		{"SaltInvocationError", loader.KindInvocation}, {"TypeError", loader.KindType},
	} {
		if slices.Contains(kinds, k.class) {
			e.Kind = k.kind
			break
		}
	}
	return loader.Raised(e, frames(details.Text("traceback")), data.Str(details.Value("plain")))
}

// frames returns the lines of a traceback between its first and its last.
func frames(traceback string) string {
	_, rest, ok := strings.Cut(traceback, "\n")
	if !ok {
		return ""
	}
	if i := strings.LastIndex(strings.TrimRight(rest, "\n"), "\n"); i >= 0 && strings.HasPrefix(rest, " ") {
		return rest[:i+1]
	}
	return ""
}

// refusal returns the message that raises err in Python.
func refusal(err error) data.Tuple {
	class, text, details := "CommandExecutionError", err.Error(), data.NewMap()
	if e, ok := errors.AsType[*loader.Error](err); ok {
		class = e.Class[strings.LastIndex(e.Class, ".")+1:]
		if e.Info != nil {
			details.Set("info", e.Info)
		}
		if e.Kind == loader.KindMissing {
			text = strings.Trim(text, "'")
		}
	}
	return data.Tuple{"error", class, text, details}
}
