// Package survey is Salt's runner survey: it calls a function on minions and groups the minions by
// result (salt/runners/survey.py).
package survey

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner survey.
func Plugin() loader.Plugin { return loader.Plugin{Name: "survey", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("diff", m.diff), loader.F("hash", m.hash)}},
		nil
}

// A pool is a group of minions with the same result.
type pool struct {
	ids    []any
	result string
}

type surveyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// hash calls a function on minions and returns the groups of minions with the same result, the
// largest first. The target comes first, then the function and its arguments.
//
// survey_sort
//
//	up sorts the smallest group first.
//
// tgt_type
//
//	compound, which is the default, or pcre.
//
// CLI Example:
//
//	salt-run survey.hash '*' test.version
//	salt-run survey.hash '*' file.get_hash /etc/salt/minion survey_sort=up
func (m *module) hash(ctx context.Context, a surveyArgs) (any, error) {
	pools, err := m.ask(ctx, a)
	if err != nil || pools == nil {
		return data.NewMap(), err
	}
	return listed(pools), nil
}

// diff calls a function on minions as survey.hash does, and prints for each group how its result
// differs from that of the first.
//
// CLI Example:
//
//	salt-run survey.diff survey_sort=up '*' cp.get_file_str file:///etc/hosts
func (m *module) diff(ctx context.Context, a surveyArgs) (any, error) {
	pools, err := m.ask(ctx, a)
	if err != nil || pools == nil {
		return data.NewMap(), err
	}
	run := runners.RunOf(ctx)
	for i, p := range pools {
		run.Printf("minion pool :\n------------\n%s\npool size :\n----------\n    %d\n",
			data.Repr(p.ids), len(p.ids))
		if i == 0 {
			run.Printf("pool result :\n------------\n    %s\n\n", p.result)
			continue
		}
		title := `differences from "` + data.Str(pools[0].ids[0]) + `" results :`
		run.Printf("%s\n%s\n%s\n\n", title, strings.Repeat("-", len([]rune(title))-1),
			pools[0].against(p))
	}
	return listed(pools), nil
}

// against returns a unified diff of the results of two pools without common lines.
func (p pool) against(other pool) string {
	diff := difflib.Around(lines(p.result), lines(other.result), 0, data.Str(p.ids[0]),
		data.Str(other.ids[0]), "\n")
	return strings.Join(diff, "")
}

// lines returns the lines of a text, each with a line feed.
func lines(text string) []string {
	var out []string
	for _, line := range difflib.Lines(text) {
		out = append(out, difflib.Bare(line)+"\n")
	}
	return out
}

// ask returns the pools in the requested order; nil if the order could not be submitted, which is
// printed.
func (m *module) ask(ctx context.Context, a surveyArgs) ([]pool, error) {
	if len(a.Args) < 2 {
		return nil, loader.Exception("IndexError", "tuple index out of range")
	}
	words := a.Kwargs.Clone()
	up := words.Value("survey_sort") == "up"
	tgtType := words.Value("tgt_type")
	if tgtType != "pcre" {
		tgtType = "compound"
	}
	for _, key := range words.Keys() {
		if name := data.Str(key); name == "survey_sort" || name == "tgt_type" ||
			strings.HasPrefix(name, "_") {
			words.Delete(key)
		}
	}
	answers, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", a.Args[0], "tgt_type", tgtType, "fun", a.Args[1],
			"arg", loader.ConditionInput(a.Args[2:], words), "timeout", m.env.Option("timeout")))
	if err != nil {
		runners.RunOf(ctx).Printf("%v\n", err)
		return nil, nil
	}
	return pooled(answers, up), nil
}

// pooled groups minions with the same result.
func pooled(answers *data.Map, up bool) []pool {
	pools := []pool{}
	for _, id := range slices.SortedFunc(slices.Values(answers.Keys()),
		func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) }) {
		answer, _ := answers.Value(id).(*data.Map)
		result := data.Str(answer.Value("ret"))
		i := slices.IndexFunc(pools, func(p pool) bool { return p.result == result })
		if i < 0 {
			i = len(pools)
			pools = append(pools, pool{result: result})
		}
		pools[i].ids = append(pools[i].ids, id)
	}
	slices.SortStableFunc(pools, func(a, b pool) int {
		if up {
			a, b = b, a
		}
		return len(b.ids) - len(a.ids)
	})
	return pools
}

func listed(pools []pool) []any {
	list := []any{}
	for _, p := range pools {
		list = append(list, data.NewMap("pool", p.ids, "result", p.result))
	}
	return list
}
