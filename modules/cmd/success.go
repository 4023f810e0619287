package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// successes are the conditions under which a run counts as return code 0.
type successes struct {
	codes        []int64
	stdout, errs []string
}

func readSuccesses(_ context.Context, j *job) (err error) {
	if j.retcodes == nil {
		j.good.codes = []int64{0}
	}
	for _, v := range splitList(j.retcodes) {
		n, err := loader.Int(v)
		if err != nil && loader.KindOf(err) != loader.KindType {
			return loader.Invocation("success_retcodes must be a list of integers")
		}
		if err != nil {
			return err
		}
		j.good.codes = append(j.good.codes, n)
	}
	if j.good.stdout, err = needles(j.stdouts); err != nil {
		return err
	}
	j.good.errs, err = needles(j.stderrs)
	return err
}

// splitList returns a list as it is, and splits a text at its commas, like split_input of
// salt/utils/args.py.
func splitList(v any) []any {
	if v == nil {
		return nil
	}
	if list, ok := v.([]any); ok {
		return list
	}
	var list []any
	for _, s := range loader.SplitInput(data.Str(v)) {
		list = append(list, s)
	}
	return list
}

func needles(v any) ([]string, error) {
	var words []string
	for _, w := range splitList(v) {
		s, ok := w.(string)
		if !ok {
			return nil, loader.TypeError("'in <string>' requires string as left operand, not %s",
				loader.TypeName(w))
		}
		words = append(words, s)
	}
	return words, nil
}

// include reports whether an outcome is a success.
func (s *successes) include(o *outcome) bool {
	in := func(text string) func(string) bool {
		return func(word string) bool { return strings.Contains(text, word) }
	}
	code, ok := o.retcode.(int64)
	return ok && slices.Contains(s.codes, code) ||
		slices.ContainsFunc(s.stdout, in(o.stdout)) || slices.ContainsFunc(s.errs, in(o.stderr))
}
