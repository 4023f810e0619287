package saltcheck

import (
	"cmp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A summary counts the results of tests.
type summary struct {
	passed, failed, skipped int64
	missing                 int64   // states without tests
	seconds                 float64 // duration of all tests
}

// summarise counts results, which are those of each test in each state.
func summarise(results *data.Map) summary {
	var s summary
	for _, v := range results.All() {
		tests := v.(*data.Map)
		if tests.Len() == 0 {
			s.missing++
		}
		for _, v := range tests.All() {
			status, seconds := outcome(v)
			switch {
			case strings.HasPrefix(status, "Pass"):
				s.passed++
			case strings.HasPrefix(status, "Fail"):
				s.failed++
			case strings.HasPrefix(status, "Skip"):
				s.skipped++
			}
			s.seconds += seconds
		}
	}
	return s
}

// outcome returns the status and the duration of a test.
func outcome(result any) (status string, seconds float64) {
	m := result.(*data.Map)
	seconds, _ = m.Value("duration").(float64)
	return m.Text("status"), seconds
}

// list returns the results of the states, sorted by name, and the summary. With onlyFails it
// returns only tests that fail; a state without any is an empty dictionary.
func (s summary) list(results *data.Map, onlyFails bool) []any {
	all := []any{}
	for state, v := range results.All() {
		tests := v.(*data.Map)
		if !onlyFails {
			all = append(all, data.NewMap(state, tests))
			continue
		}
		one, fails := data.NewMap(), data.NewMap()
		for name, result := range tests.All() {
			if status, _ := outcome(result); strings.HasPrefix(status, "Fail") {
				fails.Set(name, result)
				one.Set(state, fails)
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(firstKey(a), firstKey(b)) })
	return append(all, data.NewMap("TEST RESULTS", data.NewMap(
		"Execution Time", rounded(s.seconds), "Passed", s.passed, "Failed", s.failed,
		"Skipped", s.skipped, "Missing Tests", s.missing)))
}

func firstKey(v any) string {
	for k := range v.(*data.Map).All() {
		return data.Str(k)
	}
	return ""
}
