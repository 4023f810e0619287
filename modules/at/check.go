package at

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type jobcheckArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// jobcheck returns the jobs in the queue that meet all conditions.
//
// hour, minute, day, month, year
//
//	When the job is to run. A year may have two digits.
//
// tag
//
//	Its tag.
//
// runas
//
//	The owner of the job.
//
// CLI Example:
//
//	salt '*' at.jobcheck runas=jam day=13
//	salt '*' at.jobcheck day=13 month=12 year=13 tag=rose
func (m *module) jobcheck(ctx context.Context, a jobcheckArgs) (any, error) {
	if a.Kwargs.Len() == 0 {
		return data.NewMap("error", "You have given a condition"), nil
	}
	fits, err := conditions(a.Kwargs)
	if err != nil {
		return nil, err
	}
	jobs, err := m.tagged(ctx)
	if err != nil {
		return nil, err
	}
	found := answer(filter(jobs, fits))
	if len(jobs) > 0 && len(found.Value("jobs").([]any)) == 0 {
		found.Set("note", "No match jobs or time format error")
	}
	return found, nil
}

// conditions returns a filter for jobs. Unlike in Salt, midnight and the full hour can be requested
// and a year may be a number. Salt ignores a 0 and finds no job for a year of four digits.
func conditions(kwargs *data.Map) (func(job) bool, error) {
	type condition struct {
		want string
		of   func(job) string
	}
	var all []condition
	for name, of := range map[string]func(job) string{
		"runas": func(j job) string { return j.user }, "tag": func(j job) string { return j.tag },
	} {
		if v := kwargs.Value(name); data.Truth(v) {
			all = append(all, condition{data.Str(v), of})
		}
	}
	for name, of := range map[string]func(job) string{
		"hour":   func(j job) string { return part(j.time, ":", 0) },
		"minute": func(j job) string { return part(j.time, ":", 1) },
		"day":    func(j job) string { return part(j.date, "-", 2) },
		"month":  func(j job) string { return part(j.date, "-", 1) },
	} {
		v := kwargs.Value(name)
		if v == nil || v == "" || v == false {
			continue
		}
		n, err := loader.Int(v)
		if err != nil {
			return nil, err
		}
		all = append(all, condition{fmt.Sprintf("%02d", n), of})
	}
	if v := kwargs.Value("year"); data.Truth(v) {
		year := data.Str(v)
		if len(year) == 2 {
			year = "20" + year
		}
		all = append(all, condition{year, func(j job) string { return part(j.date, "-", 0) }})
	}
	return func(j job) bool {
		for _, c := range all {
			if c.of(j) != c.want {
				return false
			}
		}
		return true
	}, nil
}

// part returns field i of a date or time.
func part(text, sep string, i int) string {
	if parts := strings.Split(text, sep); i < len(parts) {
		return parts[i]
	}
	return ""
}
