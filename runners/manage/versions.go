package manage

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/version"
)

// versions returns the version of the master and those of the minions that respond, grouped by
// comparison.
//
// CLI Example:
//
//	salt-run manage.versions
func (m *module) versions(ctx context.Context, _ loader.NoArgs) (any, error) {
	answers, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "test.version", "arg", []any{},
			"timeout", m.env.Option("timeout")))
	if err != nil {
		runners.RunOf(ctx).Printf("%v\n", err)
		return data.NewMap(), nil
	}
	groups := map[string]*data.Map{}
	for _, id := range sorted(answers) {
		answer, _ := answers.Value(id).(*data.Map)
		label, v := "Minion offline", any(false)
		if text, ok := answer.Value("ret").(string); ok && !data.Truth(answer.Value("retcode")) {
			label, v = compared(text, version.Salt()), text
		}
		if groups[label] == nil {
			groups[label] = &data.Map{}
		}
		groups[label].Set(id, v)
	}
	ret := &data.Map{}
	for _, label := range []string{"Minion offline", "Minion requires update", "Up to date",
		"Minion newer than master"} {
		if g := groups[label]; g != nil {
			ret.Set(label, g)
		}
	}
	ret.Set("Master", version.Salt())
	return ret, nil
}

func sorted(m *data.Map) []string {
	var ids []string
	for id := range m.All() {
		ids = append(ids, id.(string))
	}
	slices.Sort(ids)
	return ids
}

// compared returns how the version of a minion compares to that of the master.
func compared(minion, master string) string {
	switch slices.Compare(numbers(minion), numbers(master)) {
	case -1:
		return "Minion requires update"
	case 1:
		return "Minion newer than master"
	}
	return "Up to date"
}

// numbers returns the numbers at the beginning of a version: 3006 and 0 of 3006.0rc2-4. A release
// candidate sorts before its release.
func numbers(v string) []int {
	var list []int
	v, _, _ = strings.Cut(v, "+")
	number, candidate, early := strings.Cut(v, "rc")
	for part := range strings.SplitSeq(number, ".") {
		digits := strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz-")
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	for len(list) < 3 {
		list = append(list, 0)
	}
	if !early {
		return append(list[:3], 1<<30)
	}
	n, _ := strconv.Atoi(strings.Trim(candidate, ".-")) // a candidate without a number is the first
	return append(list[:3], n)
}
