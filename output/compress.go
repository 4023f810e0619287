package output

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// compressedMark appears in the tag of joined states.
const compressedMark = "_|-state_compressed_"

// compressedCount returns how many states a state with this tag stands for.
func compressedCount(tag string) int {
	comps := strings.Split(tag, "_|-")
	if !strings.Contains(tag, compressedMark) || len(comps) != 4 ||
		!strings.HasSuffix(comps[1], ")") {
		return 1
	}
	n, err := strconv.Atoi(comps[1][strings.LastIndex(comps[1], "(")+1 : len(comps[1])-1])
	if err != nil {
		return 1
	}
	return n
}

// compressed joins the states of one id, SLS and result into one. A value that is not a run stays
// as it is (salt/output/highstate.py, _compress_ids).
func compressed(m *data.Map) *data.Map {
	out := &data.Map{}
	for host, v := range m.All() {
		run, ok := v.(*data.Map)
		if !ok {
			return m
		}
		joined := compressedRun(run)
		if joined == nil {
			return m
		}
		out.Set(host, joined)
	}
	return out
}

// compressedRun joins the states of one run; it returns nil if an entry is not a result.
func compressedRun(run *data.Map) *data.Map {
	counts := map[string]int{}
	for tag, v := range run.All() {
		ret, ok := v.(*data.Map)
		if !ok || !ret.Has("__id__") || !ret.Has("__sls__") || !ret.Has("result") ||
			strings.Count(data.Str(tag), "_|-") < 3 {
			return nil
		}
		counts[family(data.Str(tag), ret)]++
	}
	out := &data.Map{}
	for tag, v := range run.All() {
		ret := v.(*data.Map)
		n := counts[family(data.Str(tag), ret)]
		if n == 1 {
			out.Set(tag, ret)
			continue
		}
		comps := strings.Split(data.Str(tag), "_|-")
		comps[2] = strings.Join([]string{"state_compressed", data.Str(ret.Value("__sls__")),
			data.Str(ret.Value("__id__")), data.Str(ret.Value("result"))}, "_")
		comps[1] = fmt.Sprintf("%s (%d)", data.Str(ret.Value("__id__")), n)
		join(out, strings.Join(comps, "_|-"), ret)
	}
	return out
}

func family(tag string, ret *data.Map) string {
	kind, _, _ := strings.Cut(tag, "_|-")
	return strings.Join([]string{kind, data.Str(ret.Value("__id__")),
		data.Str(ret.Value("__sls__")), data.Str(ret.Value("result"))}, "_")
}

// join adds a result to the one that stands for several.
func join(out *data.Map, tag string, ret *data.Map) {
	sum, ok := out.Value(tag).(*data.Map)
	if !ok {
		out.Set(tag, ret.Clone())
		return
	}
	if a, _ := toFloat(ret.Value("__run_num__")); a < first(toFloat(sum.Value("__run_num__"))) {
		sum.Set("__run_num__", ret.Value("__run_num__"))
	}
	took := first(toFloat(sum.Value("duration"))) + first(toFloat(ret.Value("duration")))
	sum.Set("duration", math.RoundToEven(took*1000)/1000)
	if began := data.Str(ret.Value("start_time")); began < data.Str(sum.Value("start_time")) {
		sum.Set("start_time", began)
	}
	changes, _ := ret.Value("changes").(*data.Map)
	if changes.Len() == 0 {
		return
	}
	all, _ := sum.Value("changes").(*data.Map)
	each, ok := all.Value("compressed changes").(*data.Map)
	if !ok {
		each = &data.Map{}
		if all.Len() > 0 {
			each.Set(data.Str(sum.Value("name")), all)
		}
		sum.Set("changes", data.NewMap("compressed changes", each))
	}
	each.Set(data.Str(ret.Value("name")), changes)
}

func first(f float64, _ bool) float64 { return f }
