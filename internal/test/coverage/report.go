package main

import (
	"errors"
	"fmt"
	"strings"
)

// text returns the report as text.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Of %d uses of state functions in the census %d are covered: %.1f %%. Of %d it is not known which function they are of.\n\n",
		r.all.uses, r.all.covered, r.all.percent(), r.all.unknown)
	for _, s := range r.each {
		if s.minimum > 0 {
			b.WriteString(s.line())
		}
	}
	b.WriteString("\nOther modules:\n")
	for _, s := range r.each {
		if s.minimum == 0 {
			b.WriteString(s.line())
		}
	}
	b.WriteString("\nMissing functions, the most used first:\n")
	for _, f := range r.all.missing {
		fmt.Fprintf(&b, "  %-34s %5d uses in %3d trees\n", f.Name, f.Uses, f.Trees)
	}
	fmt.Fprintf(&b, "\nOf %d uses of Salt's execution functions in templates %d are covered: %.1f %%. Missing:\n", r.called.uses, r.called.covered, r.called.percent())
	for _, f := range r.called.missing {
		fmt.Fprintf(&b, "  %-34s %5d uses in %3d trees\n", f.Name, f.Uses, f.Trees)
	}
	return b.String()
}

func (s *share) line() string {
	note := ""
	if s.unknown > 0 {
		note = fmt.Sprintf(", %d unknown", s.unknown)
	}
	return fmt.Sprintf("  %-22s %6.1f %% of %5d%s\n", s.name, s.percent(), s.uses, note)
}

// enough returns an error that lists the values below their minimums.
func (r *report) enough() error {
	var errs []error
	for _, s := range append([]*share{&r.all, &r.called}, r.each...) {
		if s.uses > 0 && s.percent() < s.minimum {
			errs = append(errs, fmt.Errorf("%s: %.1f %% of the uses are covered, and %.0f %% must be", s.name, s.percent(), s.minimum))
		}
	}
	for _, f := range r.called.missing {
		if f.Trees >= minTrees {
			errs = append(errs, fmt.Errorf("there is no %s, which %d trees call", f.Name, f.Trees))
		}
	}
	return errors.Join(errs...)
}
