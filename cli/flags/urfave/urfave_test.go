package urfave

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cli/flags"
)

func list() []flags.Flag {
	return []flags.Flag{
		{Name: "log-level", Kind: flags.Text}, {Name: "local", Kind: flags.Truth},
		{Name: "timeout", Kind: flags.Int},
		{Name: "batch-wait", Kind: flags.Float}, {Name: "module-dirs", Kind: flags.Texts},
		{Name: "h", Kind: flags.Text},
	}
}

// given returns the flags of list that occur in the arguments.
func given(args []string) []flags.Flag {
	var some []flags.Flag
	for _, f := range list() {
		for _, arg := range args {
			if arg == "--" {
				break
			}
			if strings.HasPrefix(arg, "--"+f.Name+"=") {
				some = append(some, f)
				break
			}
		}
	}
	return some
}

// readers are the two readers that must agree.
func readers() map[string]flags.Reader {
	return map[string]flags.Reader{"flags": flags.Read, "urfave": Read}
}

func TestBothReadersReadAlike(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		values []any
		rest   []string
	}{
		{"nothing", []string{"--"}, nil, nil},
		{"arguments", []string{"--", "*", "", "--local", "help", "-h"}, nil,
			[]string{"*", "", "--local", "help", "-h"}},
		{"a second end of options", []string{"--", "--", "x"}, nil, []string{"--", "x"}},
		{"texts", []string{"--log-level=all", "--h=a=b", "--"}, []any{"all", "a=b"}, nil},
		{"an empty text", []string{"--log-level=", "--"}, []any{""}, nil},
		{"a text that looks like a flag", []string{"--log-level=--local", "--"}, []any{"--local"}, nil},
		{"white space", []string{"--log-level= \n", "--module-dirs= /a ", "--module-dirs=\t", "--"},
			[]any{" \n", []any{" /a ", "\t"}}, nil},
		{"commas", []string{"--module-dirs=a,b", "--module-dirs=c", "--"}, []any{[]any{"a,b", "c"}}, nil},
		{"an empty one of several", []string{"--module-dirs=", "--"}, []any{[]any{""}}, nil},
		{"numbers", []string{"--timeout=-5", "--batch-wait=-0.5", "--"}, []any{int64(-5), -0.5}, nil},
		{"the largest number", []string{"--timeout=9223372036854775807", "--"},
			[]any{int64(math.MaxInt64)}, nil},
		{"no end of a wait", []string{"--batch-wait=+Inf", "--"}, []any{math.Inf(1)}, nil},
		{"the last one counts", []string{"--timeout=1", "--timeout=2", "--log-level=a",
			"--log-level=b", "--"}, []any{"b", int64(2)}, nil},
		{"truth", []string{"--local=true", "--local=true", "--", "x"}, []any{true}, []string{"x"}},
	} {
		for name, read := range readers() {
			t.Run(tt.name+" by "+name, func(t *testing.T) {
				values, rest, err := read("salt", given(tt.args), tt.args)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.values, some(values)); d != "" {
					t.Errorf("values (-want +got):\n%s", d)
				}
				if d := cmp.Diff(tt.rest, someTexts(rest)); d != "" {
					t.Errorf("arguments (-want +got):\n%s", d)
				}
			})
		}
	}
}

func TestBothReadersRefuseAlike(t *testing.T) {
	for name, args := range map[string][]string{
		"what is unknown":      {"--unknown=1", "--"},
		"words as a number":    {"--timeout=soon", "--"},
		"words as a float":     {"--batch-wait=soon", "--"},
		"words as a truth":     {"--local=soon", "--"},
		"numbers past 64 bits": {"--timeout=9223372036854775808", "--"},
	} {
		for reader, read := range readers() {
			t.Run(name+" by "+reader, func(t *testing.T) {
				if values, rest, err := read("salt", given(args), args); err == nil {
					t.Errorf("read %v as %v and %q", args, values, rest)
				}
			})
		}
	}
}

func FuzzReaders(f *testing.F) {
	f.Add("info", int64(-3), 0.25, " a,b ", "x\x00--\x00-v", true)
	f.Add("", int64(0), 0.0, "", "", false)
	f.Add("--", int64(math.MinInt64), -1e300, "=\x00=", "help", true)
	f.Fuzz(func(t *testing.T, text string, number int64, real float64, several, args string, truth bool) {
		line := arguments(text, number, real, several, args, truth)
		values, rest, err := flags.Read("salt", given(line), line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		others, others2, err := Read("salt", given(line), line)
		if err != nil {
			t.Fatalf("%q by urfave: %v", line, err)
		}
		if d := cmp.Diff(some(others), some(values)); d != "" {
			t.Errorf("%q: values (-urfave +flags):\n%s", line, d)
		}
		if d := cmp.Diff(someTexts(others2), someTexts(rest)); d != "" {
			t.Errorf("%q: arguments (-urfave +flags):\n%s", line, d)
		}
	})
}

// arguments formats a command line as package cli does.
func arguments(text string, number int64, real float64, several, args string, truth bool) []string {
	line := []string{"--log-level=" + text, "--timeout=" + strconv.FormatInt(number, 10)}
	if real == real { // optparse accepts nan too, which equals nothing
		line = append(line, "--batch-wait="+strconv.FormatFloat(real, 'g', -1, 64))
	}
	for s := range strings.SplitSeq(several, "\x00") {
		line = append(line, "--module-dirs="+s)
	}
	if truth {
		line = append(line, "--local=true")
	}
	return append(append(line, "--"), strings.Split(args, "\x00")...)
}

// some and someTexts treat nil and an empty list alike.
func some(list []any) []any { return append([]any(nil), list...) }

func someTexts(list []string) []string { return append([]string(nil), list...) }
