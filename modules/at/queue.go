package at

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// A job is an entry of the queue.
type job struct {
	number                       string
	date, time, queue, user, tag string
	text                         bool // the number is a string in results, as on BSD
}

func (j job) result() *data.Map {
	var number any = j.number
	if n, err := strconv.ParseInt(j.number, 10, 64); err == nil && !j.text {
		number = n
	}
	return data.NewMap("job", number, "date", j.date, "time", j.time, "queue", j.queue,
		"user", j.user, "tag", j.tag)
}

func (m *module) os() string { return m.env.GrainsNow().Text("os") }

// bsd reports whether job numbers are strings.
func (m *module) bsd() bool { return m.os() == "OpenBSD" || m.os() == "FreeBSD" }

// queue returns the jobs without their tags.
func (m *module) queue(ctx context.Context) ([]job, error) {
	out, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []job
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		j, err := m.parse(line)
		switch {
		case err != nil:
			return nil, loader.Execution("at: cannot read the line %q of the queue: %w", line, err)
		case j.number != "":
			j.text = m.bsd()
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// list returns the output of the program that lists the queue. Unlike in Salt, a failure is an
// error, for instance for users who may not use at: an unreadable queue is not an empty one.
func (m *module) list(ctx context.Context) (string, error) {
	name, args := "atq", []string(nil)
	if m.env.GrainsNow().Text("os_family") == "RedHat" {
		name, args = "at", []string{"-l"}
	}
	path := process.Find(name)
	if path == "" {
		return "", loader.NotFound("%s: command not found", name)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{path}, args...)})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("at: list the queue: %s", ran.Stderr)
	}
	return ran.Stdout, err
}

// marker matches the line of a script that has the job's tag.
var marker = regexp.MustCompile(`(?m)^### SALT: ([\pL\pN_]+)`)

// tagged returns the jobs with their tags, which are comments in their scripts.
func (m *module) tagged(ctx context.Context) ([]job, error) {
	jobs, err := m.queue(ctx)
	for i := range jobs {
		script, err := m.run(ctx, "at", append([]string{"-c"}, operands(jobs[i].number)...)...)
		if err != nil {
			return nil, err
		}
		if found := marker.FindAllStringSubmatch(script, -1); found != nil {
			jobs[i].tag = found[len(found)-1][1]
		}
	}
	return jobs, err
}

// parse parses a line of the queue. For a heading it returns a job without a number.
func (m *module) parse(line string) (job, error) {
	switch m.os() {
	case "OpenBSD": //  Rank     Execution Date     Owner          Job         Queue
		if strings.HasPrefix(line, " Rank") {
			return job{}, nil
		}
		return columns(strings.Fields(line), 1, 5, "Jan 2, 2006 15:04", 6, 7, 5)
	case "FreeBSD": // Date                            Owner           Queue   Job#
		if strings.HasPrefix(line, "Date") {
			return job{}, nil
		}
		return columns(strings.Fields(line), 1, 6, "Jan 2 15:04:05 MST 2006", 8, 7, 6)
	}
	number, rest, ok := strings.Cut(line, "\t")
	if !ok {
		return job{}, errors.New("no tab found")
	}
	words := strings.Fields(rest)
	if len(words) == 4 { // old at releases in the Red Hat family print the date in this form
		return job{number: number, date: words[0], time: words[1], queue: words[2],
			user: words[3]}, nil
	}
	return columns(append(words, number), 0, 5, "Mon Jan 2 15:04:05 2006", len(words), 5, 6)
}

// columns builds a job from the words of a line: words begin to end are its time, and the other
// parameters are positions.
func columns(words []string, begin, end int, layout string, number, queue, user int) (job, error) {
	if len(words) <= max(number, queue, user) {
		return job{}, fmt.Errorf("only %d words", len(words))
	}
	at, err := time.Parse(layout, strings.Join(words[begin:end], " "))
	if err != nil {
		return job{}, err
	}
	return job{number: words[number], date: at.Format("2006-01-02"),
		time: at.Format("15:04") + ":00", queue: words[queue], user: words[user]}, nil
}
