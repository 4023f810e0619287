package saltjinja

import (
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// explain converts an error of the engine to Salt's error (salt/utils/templates.py,
// render_jinja_tmpl and _get_jinja_error).
func (st *state) explain(err error, source string) error {
	var e *jinja.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind == jinja.PythonSyntaxError {
		return &render.Error{Message: "'NoneType' object is not subscriptable", Err: e}
	}
	out := &render.Error{Message: prefix(e) + e.Message, Err: cause(e)}
	if prefix(e) == generic {
		out.Trace = trace(e)
	}
	at := place(e)
	if path, impureFilters := st.otherTemplate(at.Template); impureFilters {
		text, readErr := os.ReadFile(path)
		if readErr == nil {
			out.Line, out.Source, out.Path = at.Line, string(text), path
			return out
		}
	}
	out.Line, out.Source = at.Line, source
	return out
}

// cause returns the error that callers can unwrap: that of an execution function, else the
// engine's.
func cause(e *jinja.Error) error {
	if fn, ok := e.Err.(*functionError); ok { //nolint:errorlint // the error itself, not one within
		return fn.err
	}
	return e
}

const generic = "Jinja error: "

// prefix returns Salt's prefix for the message of a kind of error.
func prefix(e *jinja.Error) string {
	switch e.Kind {
	case jinja.UndefinedError:
		return "Jinja variable "
	case jinja.SyntaxError, jinja.AssertionError, jinja.RuntimeError, jinja.FilterArgumentError,
		jinja.SecurityError:
		return "Jinja syntax error: "
	case jinja.HostError:
		if fn, ok := e.Err.(*functionError); ok { //nolint:errorlint // the error itself, not one within
			switch loader.KindOf(fn.err) {
			case loader.KindExecution, loader.KindNotFound, loader.KindInvocation:
				return "Problem running salt function in Jinja template: "
			}
		}
	}
	return generic
}

// place returns the place to show: the innermost one, except that Salt ignores lines in blocks.
func place(e *jinja.Error) jinja.Place {
	if e.Kind != jinja.SyntaxError && e.Kind != jinja.AssertionError || e.Line == 0 {
		for _, p := range e.Trace {
			if !p.Block {
				return p
			}
		}
	}
	return jinja.Place{Template: e.Template, Line: e.Line}
}

// otherTemplate reports whether a template is not the one being rendered, and returns its path on
// this host. Like Salt, it takes a template whose path ends in the path of the SLS for the SLS
// itself.
func (st *state) otherTemplate(template string) (string, bool) {
	path := st.paths[template]
	if path == "" || template == mainTemplate {
		return "", false
	}
	if sls, ok := st.vars["sls"].(string); ok &&
		strings.HasSuffix(path, strings.ReplaceAll(sls, ".", "/")) {
		return "", false
	}
	return path, true
}

// shownAlike is how many identical lines in a row a traceback shows, as in Python.
const shownAlike = 3

// trace returns the way to an error through the templates, in the form of Python's tracebacks.
func trace(e *jinja.Error) string {
	var b strings.Builder
	if bad, ok := e.Err.(*yaml.Error); ok { //nolint:errorlint // the error itself, not one within
		of := "yaml.error.MarkedYAMLError"
		if bad.OfScanner() {
			of = "yaml.scanner.ScannerError"
		}
		b.WriteString("Traceback (most recent call last):\n" + of + ": " + bad.Error() + "\n\n" +
			"During handling of the above exception, another exception occurred:\n\n")
	}
	b.WriteString("Traceback (most recent call last):\n")
	for i := len(e.Trace) - 1; i >= 0; {
		at, same := e.Trace[i], 1
		for i-same >= 0 && e.Trace[i-same].Template == at.Template &&
			e.Trace[i-same].Line == at.Line {
			same++
		}
		i -= same
		line := "  File \"" + at.Template + "\", line " + itoa(at.Line) + ", in template\n"
		b.WriteString(strings.Repeat(line, min(same, shownAlike)))
		switch more := same - shownAlike; {
		case more == 1:
			b.WriteString("  [Previous line repeated 1 more time]\n")
		case more > 1:
			b.WriteString("  [Previous line repeated " + itoa(more) + " more times]\n")
		}
	}
	b.WriteString(class(e) + ": " + e.Message + "\n")
	return b.String()
}

// class returns the name of the exception at the end of Python's traceback.
func class(e *jinja.Error) string {
	switch e.Kind {
	case jinja.NotFound, jinja.NoneFound:
		return "jinja2.exceptions." + string(e.Kind)
	case jinja.HostError:
		var of *loader.Error
		if errors.As(cause(e), &of) && of.Class != "" {
			return of.Class
		}
		return "Exception"
	}
	return string(e.Kind)
}
