// Package at is Salt's module at: jobs that run once at a later time, in the queue of at(1)
// (salt/modules/at.py).
//
// Differences from Salt: atrm removes several jobs. Salt passes all their numbers to at as one word
// and reports jobs as removed that are still there; here atrm returns the jobs that are gone. If at
// rejects a job for another reason than its time, the result has an error instead of an exception.
// A queue that cannot be read is an error. A time or job number that begins with a dash is never
// passed to at as an option.
package at

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module at. It needs the program at.
func Plugin() loader.Plugin { return loader.Plugin{Name: "at", New: newModule} }

type module struct{ env *loader.Env }

//nolint:staticcheck // the texts are Salt's
func newModule(env *loader.Env) (*loader.Module, error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "solaris" || runtime.GOOS == "illumos" {
		return nil, errors.New("The at module could not be loaded: unsupported platform")
	}
	if process.Find("at") == "" {
		return nil, errors.New("The at module could not be loaded: at command not found")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("at", m.at),
		loader.F("atc", m.atc),
		loader.F("atq", m.atq),
		loader.F("atrm", m.atrm),
		loader.F("jobcheck", m.jobcheck),
	}}, nil
}

// run returns the standard output of a program.
func (m *module) run(ctx context.Context, name string, args ...string) (string, error) {
	path := process.Find(name)
	if path == "" {
		return "", loader.NotFound("%s: command not found", name)
	}
	return calls.RunStdout(ctx, m.env, calls.Run{Argv: append([]string{path}, args...)})
}

type tagArgs struct {
	Tag any `default:"None"`
}

// atq returns the jobs in the queue.
//
// tag
//
//	Only jobs with this tag, or the job with this number.
//
// CLI Example:
//
//	salt '*' at.atq
//	salt '*' at.atq nightly
//	salt '*' at.atq 4
func (m *module) atq(ctx context.Context, a tagArgs) (any, error) {
	jobs, err := m.tagged(ctx)
	if err != nil {
		return nil, err
	}
	return answer(filter(jobs, m.named(a.Tag))), nil
}

// named returns a filter for jobs with a tag, or with a number equal to tag.
func (m *module) named(tag any) func(job) bool {
	switch tag.(type) {
	case int64, int:
		return func(j job) bool { return j.number == data.Str(tag) }
	}
	if !data.Truth(tag) {
		return func(job) bool { return true }
	}
	return func(j job) bool { return j.tag == data.Str(tag) || m.bsd() && j.number == data.Str(tag) }
}

func answer(jobs []any) *data.Map { return data.NewMap("jobs", jobs) }

// filter returns the results for the matching jobs.
func filter(jobs []job, fits func(job) bool) []any {
	list := []any{}
	for _, j := range jobs {
		if fits(j) {
			list = append(list, j.result())
		}
	}
	return list
}

type wordsArgs struct {
	Jobs []any `args:"args"`
}

// atrm removes jobs from the queue, and returns the numbers of the removed jobs. If no job matches,
// salt-call exits with 1.
//
// args
//
//	Numbers of jobs; or the word all, optionally followed by a tag to select only jobs with that
//	tag.
//
// CLI Example:
//
//	salt '*' at.atrm 3 4
//	salt '*' at.atrm all
//	salt '*' at.atrm all nightly
func (m *module) atrm(ctx context.Context, a wordsArgs) (any, error) {
	var tag any
	fits := func(j job) bool {
		return slices.ContainsFunc(a.Jobs,
			func(number any) bool { return data.Str(number) == j.number })
	}
	if len(a.Jobs) > 0 && data.Str(a.Jobs[0]) == "all" {
		if len(a.Jobs) > 1 {
			tag = data.Str(a.Jobs[1])
		}
		fits = m.named(tag)
	}
	removed := []any{}
	if len(a.Jobs) > 0 {
		var err error
		if removed, err = m.remove(ctx, tag != nil, fits); err != nil {
			return nil, err
		}
	}
	return data.NewMap("jobs", data.NewMap("removed", removed, "tag", tag)), nil
}

// remove removes the matching jobs and returns the numbers of those that are gone.
func (m *module) remove(ctx context.Context, tags bool, fits func(job) bool) ([]any, error) {
	list := m.queue
	if tags {
		list = m.tagged
	}
	jobs, err := list(ctx)
	if err != nil {
		return nil, err
	}
	var numbers []string
	for _, j := range jobs {
		if fits(j) {
			numbers = append(numbers, j.number)
		}
	}
	gone, call := []any{}, loader.ContextOf(ctx)
	if len(numbers) == 0 {
		call.SetRetcode(1) // the exit code of at, which Salt runs without a number
		return gone, nil
	}
	if _, err := m.run(ctx, "at", append([]string{"-d"}, numbers...)...); err != nil {
		return nil, err
	}
	code, ran := call.Get("retcode")
	left, err := m.queue(ctx)
	if ran {
		call.Set("retcode", code) // the job fails if at -d failed, whatever happened to the queue
	}
	for _, number := range numbers {
		if !slices.ContainsFunc(left, func(j job) bool { return j.number == number }) {
			gone = append(gone, number)
		}
	}
	return gone, err
}

type atArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// created matches the number of a new job in the output of at.
var created = regexp.MustCompile(`(?mi)^job (\S+) `)

// at adds a job to the queue and returns the job.
//
// args
//
//	When it runs, as in at(1), followed by the words of the command.
//
// tag
//
//	A word to find the job by.
//
// runas
//
//	The owner of the job; the minion's user by default.
//
// CLI Example:
//
//	salt '*' at.at 12:05am /sbin/reboot tag=reboot
//	salt '*' at.at '3:05am +3 days' bin/myscript tag=nightly runas=jim
//	salt '*' at.at '"22:02"' bin/myscript tag=nightly runas=jim
func (m *module) at(ctx context.Context, a atArgs) (any, error) {
	if len(a.Args) < 2 {
		return answer([]any{}), nil
	}
	var text []string
	for _, word := range a.Args[1:] {
		text = append(text, data.Str(word))
	}
	script := strings.Join(text, " ")
	if tag, ok := a.Kwargs.Get("tag"); ok {
		// text after a line end would become a command
		if strings.ContainsAny(data.Str(tag), "\r\n") {
			return nil, loader.Execution("at: the tag %q has several lines", data.Str(tag))
		}
		script = "### SALT: " + data.Str(tag) + "\n" + script
	}
	argv := append([]string{process.Find("at")}, operands(data.Str(a.Args[0]))...)
	run := calls.Run{Argv: argv, Stdin: script, As: calls.Text(a.Kwargs.Value("runas"))}
	output, err := calls.RunOutput(ctx, m.env, run)
	if err != nil {
		return nil, err
	}
	number := created.FindStringSubmatch(output)
	switch {
	case strings.HasSuffix(output, "Garbled time"):
		return data.NewMap("jobs", []any{}, "error", "invalid timespec"), nil
	case number == nil:
		return data.NewMap("jobs", []any{}, "error", output), nil
	}
	jobs, err := m.tagged(ctx)
	return answer(filter(jobs, func(j job) bool { return j.number == number[1] })), err
}

// operands splits a word into arguments, none of which is an option.
func operands(word string) []string {
	if strings.HasPrefix(word, "-") {
		return []string{"--", word}
	}
	return []string{word}
}

type atcArgs struct {
	Jobid any
}

// atc returns the script of a job.
//
// CLI Example:
//
//	salt '*' at.atc 4
func (m *module) atc(ctx context.Context, a atcArgs) (any, error) {
	out, err := m.run(ctx, "at", append([]string{"-c"}, operands(data.Str(a.Jobid))...)...)
	if err == nil && out == "" {
		return data.NewMap("error", "invalid job id '"+data.Str(a.Jobid)+"'"), nil
	}
	return out, err
}
