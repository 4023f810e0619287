package crontab

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Status is the outcome for a job or a variable, in Salt's words.
type Status string

// The outcomes.
const (
	New     Status = "new"
	Updated Status = "updated"
	Present Status = "present"
	Removed Status = "removed"
	Absent  Status = "absent"
)

func (j Job) id() string {
	if j.Identifier == nil || *j.Identifier == "" {
		return NoIdentifier
	}
	return *j.Identifier
}

// Matches reports whether a job has this command and identifier ("" for none). A job without an
// identifier is matched by its command alone.
func (j Job) Matches(command, identifier string) bool {
	if identifier == "" {
		identifier = NoIdentifier
	}
	if j.id() == NoIdentifier {
		return j.Command == command
	}
	return j.id() == identifier
}

// Set adds or updates a job. It keeps its position if nothing changes and is otherwise moved to the
// end. Times may be random, or two numbers with a colon for a random one of that range; a present
// time that fits is kept. A nil comment or identifier keeps the present one.
func (t *Table) Set(j Job) Status {
	identifier := ""
	if j.Identifier != nil {
		identifier = *j.Identifier
	}
	at := func(list []Job) int {
		return slices.IndexFunc(list, func(o Job) bool { return o.Matches(j.Command, identifier) })
	}
	list, i := &t.Jobs, at(t.Jobs)
	if i < 0 {
		list, i = &t.Specials, at(t.Specials)
	}
	if i < 0 {
		t.add(j)
		return New
	}
	old := (*list)[i]
	next := old.become(j)
	if old.equal(next) {
		return Present
	}
	*list = slices.Delete(*list, i, i+1)
	t.add(next)
	return Updated
}

func (t *Table) add(j Job) {
	if j.Special != "" {
		t.Specials = append(t.Specials, j)
		return
	}
	j.draw()
	t.Jobs = append(t.Jobs, j)
}

// become returns the updated form of an existing job.
func (j Job) become(wanted Job) Job {
	if wanted.Comment == nil {
		wanted.Comment = j.Comment
	}
	if wanted.Identifier == nil {
		wanted.Identifier = j.Identifier
	}
	if j.Special == "" && wanted.Special == "" {
		for i, old := range j.Times {
			if fits(old, wanted.Times[i]) {
				wanted.Times[i] = old
			}
		}
	}
	return wanted
}

// equal reports whether two jobs are written the same way.
func (j Job) equal(o Job) bool {
	return j.Command == o.Command && j.Times == o.Times && j.Special == o.Special &&
		j.Disabled == o.Disabled && j.id() == o.id() && remark(j.Comment) == remark(o.Comment)
}

// remark returns a comment as it will be read again.
func remark(comment *string) string {
	if comment == nil {
		return ""
	}
	lines := strings.Split(*comment, "\n")
	for i, line := range lines {
		lines[i] = strings.Trim(line, "# \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// fits reports whether a present time satisfies a wanted one.
func fits(old, wanted string) bool {
	if wanted == "random" {
		return old != "*"
	}
	from, to, ok := span(wanted)
	n, err := strconv.Atoi(old)
	return old == wanted || ok && err == nil && from <= n && n <= to
}

// span parses two numbers with a colon between, in either order.
func span(time string) (from, to int, ok bool) {
	a, b, ok := strings.Cut(time, ":")
	from, err := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	return min(from, to), max(from, to), ok && err == nil && err2 == nil && from >= 0 && to >= 0
}

// draw chooses the random times.
func (j *Job) draw() {
	ranges := [5][2]int{{0, 59}, {0, 23}, {1, 0}, {1, 12}, {0, 6}}
	// the day of the month comes last, when the month is known
	for _, i := range []int{0, 1, 3, 4, 2} {
		lowest, highest := ranges[i][0], ranges[i][1]
		if i == 2 {
			highest = lastDay(j.Times[3])
		}
		if j.Times[i] == "random" {
			j.Times[i] = between(lowest, highest)
		} else if from, to, ok := span(j.Times[i]); ok && i != 2 {
			j.Times[i] = between(from, to)
		}
	}
}

func between(from, to int) string { return strconv.Itoa(from + rand.IntN(to-from+1)) }

// lastDay returns the last day that a month always has.
func lastDay(month string) int {
	switch month {
	case "1", "3", "5", "7", "8", "10", "12":
		return 31
	case "4", "6", "9", "11":
		return 30
	}
	return 28
}

// Remove removes a job. With special it is a job with that word, or with any word if special is
// "*". Otherwise it is a job with times, which must match those that are not nil.
func (t *Table) Remove(command, identifier, special string, times [5]*string) Status {
	list := &t.Jobs
	if special != "" {
		list = &t.Specials
	}
	i := slices.IndexFunc(*list, func(j Job) bool {
		return j.Matches(command, identifier) &&
			(special == "" || special == "*" || j.Special == special) && j.atTimes(times)
	})
	if i < 0 {
		return Absent
	}
	*list = slices.Delete(*list, i, i+1)
	return Removed
}

func (j Job) atTimes(times [5]*string) bool {
	for i, want := range times {
		if want != nil && j.Times[i] != *want &&
			(!strings.EqualFold(*want, "random") || j.Times[i] == "*") {
			return false
		}
	}
	return true
}

// SetVariable sets the value of a variable.
func (t *Table) SetVariable(name, value string) Status {
	i := slices.IndexFunc(t.Variables, func(v Variable) bool { return v.Name == name })
	switch {
	case i < 0:
		t.Variables = append(t.Variables, Variable{name, value})
		return New
	case t.Variables[i].Value == value || value == "" && t.Variables[i].Value == `""`:
		return Present
	}
	t.Variables = append(slices.Delete(t.Variables, i, i+1), Variable{name, value})
	return Updated
}

// RemoveVariable removes the last variable of that name.
func (t *Table) RemoveVariable(name string) Status {
	for i := len(t.Variables) - 1; i >= 0; i-- {
		if t.Variables[i].Name == name {
			t.Variables = slices.Delete(t.Variables, i, i+1)
			return Removed
		}
	}
	return Absent
}
