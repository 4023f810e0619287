package saltcheck

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// junit returns results as XML in the format of JUnit, as the Python package junit_xml writes it
// for Salt 3007: one suite with all tests, and a test missing_test for a state without tests.
func junit(results *data.Map) string {
	s := summarise(results)
	w := &xmlWriter{}
	total := strconv.FormatInt(s.passed+s.failed+s.skipped+s.missing, 10)
	failures, skipped := strconv.FormatInt(s.failed, 10), strconv.FormatInt(s.skipped, 10)
	time := data.Repr(s.seconds)
	w.text.WriteString(`<?xml version="1.0" ?>` + "\n")
	w.open("testsuites", "disabled", "0", "errors", "0", "failures", failures, "tests", total,
		"time", time)
	w.open("testsuite", "disabled", "0", "errors", "0", "failures", failures, "name",
		"test_results", "skipped", skipped, "tests", total, "time", time)
	for _, v := range results.All() {
		tests := v.(*data.Map)
		if tests.Len() == 0 {
			w.open("testcase", "name", "missing_test")
			w.line("<system-out>Test(s) Missing</system-out>")
			w.close("testcase")
		}
		names := data.Texts(tests.Keys())
		slices.SortFunc(names, cmp.Compare[string])
		for _, name := range names {
			w.testCase(name, tests.Value(name))
		}
	}
	w.close("testsuite")
	w.close("testsuites")
	return w.text.String()
}

// testCase writes the result of a test.
func (w *xmlWriter) testCase(name string, result any) {
	status, seconds := outcome(result)
	attrs := []string{"name", name}
	if seconds > 0 {
		attrs = append(attrs, "time", strconv.FormatFloat(seconds, 'f', 6, 64))
	}
	var inner []string
	switch {
	case strings.HasPrefix(status, "Fail"):
		inner = []string{"failure", "type", "failure", "message", status}
	case strings.HasPrefix(status, "Skip"):
		inner = []string{"skipped", "type", "skipped", "message", status}
	default:
		w.line("<testcase" + attributes(attrs) + "/>")
		return
	}
	w.open("testcase", attrs...)
	w.line("<" + inner[0] + attributes(inner[1:]) + "/>")
	w.close("testcase")
}

// An xmlWriter writes elements on lines that are indented by tabs.
type xmlWriter struct {
	text  strings.Builder
	depth int
}

func (w *xmlWriter) line(text string) {
	w.text.WriteString(strings.Repeat("\t", w.depth) + text + "\n")
}

func (w *xmlWriter) open(name string, attrs ...string) {
	w.line("<" + name + attributes(attrs) + ">")
	w.depth++
}

func (w *xmlWriter) close(name string) {
	w.depth--
	w.line("</" + name + ">")
}

// attributes returns pairs of names and values as attributes.
func attributes(pairs []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString(" " + pairs[i] + `="`)
		b.WriteString(escaped(pairs[i+1]) + `"`)
	}
	return b.String()
}

// escaped returns a text for an attribute, without characters that XML does not allow.
func escaped(text string) string {
	legal := strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;",
		"\t", "&#9;", "\n", "&#10;", "\r", "&#13;").Replace(legal)
}
