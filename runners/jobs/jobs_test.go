package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/runners"
)

// shelf returns the runner on top of a real job cache.
func shelf(
	t testing.TB, order func(context.Context, *data.Map, func(string, *data.Map) bool) error,
) (*jobstore.Store, *loader.Registry) {
	t.Helper()
	s, err := jobstore.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	env := &loader.Env{Opts: data.NewMap("timeout", int64(5), "cachedir", t.TempDir())}
	env.Host.Order = order
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(Needs{Jobs: s})})
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// save saves a job and its returns.
func save(t testing.TB, s *jobstore.Store, jid string, load *data.Map, minions []string, returns *data.Map) {
	t.Helper()
	raw, err := payload.MarshalBin(load)
	if err != nil {
		t.Fatal(err)
	}
	started, err := job.ID(jid).Time()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveJob(t.Context(), &returners.Job{ID: job.ID(jid), Load: raw, Minions: minions,
		Started: started}); err != nil {
		t.Fatal(err)
	}
	for id, v := range returns.All() {
		one := data.NewMap("id", id, "jid", jid, "return", v, "retcode", int64(0), "success", true,
			"fun", load.Value("fun"))
		if one.Text("fun") == "state.apply" {
			one.Set("out", "highstate")
		}
		raw, err := payload.MarshalBin(one)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.SaveReturn(t.Context(), job.ID(jid),
			&returners.Return{Minion: id.(string), Load: raw, Received: started}); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	ping  = "20230102030405060708"
	apply = "20230103030405060708"
	asked = "20230104030405060708"
	own   = "20230105030405060708" // of the master itself
)

func filled(t *testing.T) *loader.Registry {
	s, r := shelf(t, nil)
	save(t, s, ping, data.NewMap("fun", "test.ping", "arg", []any{}, "tgt", "web*", "tgt_type",
		"glob", "user", "root", "kwargs", data.NewMap("metadata", data.NewMap("a", int64(1)))),
		[]string{"web2", "web1"}, data.NewMap("web1", true))
	save(t, s, apply, data.NewMap("fun", "state.apply", "arg", []any{"x"}, "tgt", []any{"db1"},
		"tgt_type", "list", "user", "sudo_ann"),
		[]string{"db1"}, data.NewMap("db1", data.NewMap("s", int64(1))))
	save(t, s, asked, data.NewMap("fun", "saltutil.find_job", "arg", []any{ping}, "tgt", "*",
		"tgt_type", "glob", "user", "root"), []string{"web1"}, nil)
	done := &runners.Done{ID: "m_master", JID: "20230105030405060708",
		Data: data.NewMap("fun", "runner.test.arg", "jid", "20230105030405060708", "user", "root",
			"fun_args", []any{}, "return", int64(7), "success", true)}
	if err := done.KeepIn(t.Context(), s, time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestResultsMatchSaltRun compares results with the output of salt-run of 3006.0 for the same
// jobs, as Python's repr; the job of the master itself is from 3006.18, which lists it.
func TestResultsMatchSaltRun(t *testing.T) {
	r := filled(t)
	pingJob := "'Function': 'test.ping', 'Arguments': [], 'Target': 'web*', 'Target-type': 'glob', 'User': 'root', 'Metadata': {'a': 1}"
	pingFull := "{" + pingJob + ", 'Minions': ['web1', 'web2'], 'StartTime': '2023, Jan 02 03:04:05.060708', 'Result': {'web1': {'return': True, 'retcode': 0, 'success': True}}}"
	ownJob := "'Function': 'runner.test.arg', 'Arguments': [], 'Target': 'm_master', 'Target-type': 'list', 'User': 'root'"
	ownResult := "{'fun': 'runner.test.arg', 'jid': '" + own +
		"', 'user': 'root', 'fun_args': [], 'return': 7, 'success': True}"
	for _, tt := range []struct {
		call string
		want string
	}{
		{"lookup_jid " + ping, "{'web1': True}"},
		{"lookup_jid " + ping + " missing=True", "{'web1': True, 'web2': 'Minion did not return'}"},
		{"lookup_jid " + ping + " returned=False missing=True", "{'web2': 'Minion did not return'}"},
		{"lookup_jid " + apply, "{'outputter': 'highstate', 'data': {'db1': {'s': 1}}}"},
		{"lookup_jid " + own, "{'m_master': " + ownResult + "}"},
		{"lookup_jid 20200101000000000000", "{}"},
		{"lookup_jid ../../etc", "{}"},
		{"print_job " + ping, "{'" + ping + "': " + pingFull + "}"},
		{"list_job " + ping, "{'jid': '" + ping + "', " + pingFull[1:]},
		{"list_job 20200101000000000000",
			"{'jid': '20200101000000000000', 'Error': 'Cannot contact returner or no job with this jid', 'StartTime': '2020, Jan 01 00:00:00.000000', 'Result': {}}"},
		{"exit_success " + ping, "{'web1': True, 'web2': False}"},
		{"list_jobs search_function=test.*,nosuch.*", "{'" + ping + "': {" + pingJob +
			", 'StartTime': '2023, Jan 02 03:04:05.060708'}}"},
		{"list_jobs search_function=nosuch.*", "{}"},
		{"list_jobs search_metadata={'a': 2}", "{}"},
		{"list_jobs search_target=db* outputter=x", "{'outputter': 'x', 'data': {'" + apply +
			"': {'Function': 'state.apply', 'Arguments': ['x'], 'Target': ['db1'], 'Target-type': 'list', " +
			"'User': 'sudo_ann', 'StartTime': '2023, Jan 03 03:04:05.060708'}}}"},
		{"list_jobs_filter 1", "[{" + ownJob + ", 'JID': '" + own +
			"', 'StartTime': '2023, Jan 05 03:04:05.060708'}]"},
		{"list_jobs_filter 2", "[{'Function': 'state.apply', 'Arguments': ['x'], 'Target': ['db1'], 'Target-type': 'list', 'User': 'sudo_ann', 'JID': '" + apply + "', 'StartTime': '2023, Jan 03 03:04:05.060708'}, " +
			"{" + ownJob + ", 'JID': '" + own + "', 'StartTime': '2023, Jan 05 03:04:05.060708'}]"},
		{"list_jobs search_function=runner.*", "{'" + own + "': {" + ownJob +
			", 'StartTime': '2023, Jan 05 03:04:05.060708'}}"},
		{"print_job " + own, "{'" + own + "': {" + ownJob +
			", 'StartTime': '2023, Jan 05 03:04:05.060708', 'Result': {'m_master': {'return': " +
			ownResult + "}}}}"},
		{"exit_success " + own, "{'m_master': True}"},
		{"last_run function=test.*", "{'" + ping + "': " + pingFull + "}"},
		{"last_run function=nosuch", "False"},
		{"last_run metadata=x", "False"},
		{"status " + ping, "{'web2': {'state': 'sent', 'since': '2023, Jan 02 03:04:05.060708'}, 'web1': {'state': 'returned', 'since': '2023, Jan 02 03:04:05.060708'}}"},
		{"master", "[]"},
	} {
		t.Run(tt.call, func(t *testing.T) {
			fun, rest, _ := strings.Cut(tt.call, " ")
			var words []string
			switch {
			case strings.Contains(rest, "{"):
				words = []string{rest}
			default:
				words = strings.Fields(rest)
			}
			f, _ := r.Func("jobs." + fun)
			args, kwargs, err := f.Spec().Split(loader.WireArgs(words), nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, err := r.Invoke(t.Context(), "jobs."+fun, args, kwargs); err != nil ||
					data.Repr(got) != tt.want {
					t.Errorf("got  %s, %v\nwant %s", data.Repr(got), err, tt.want)
				}
			}
		})
	}
}

// TestSelectedJobs checks the arguments that Salt does not have.
func TestSelectedJobs(t *testing.T) {
	r := filled(t)
	for _, tt := range []struct {
		words *data.Map
		want  string
	}{
		{data.NewMap("limit", int64(1)), own},
		{data.NewMap("limit", int64(2), "before", own), apply + " " + asked},
		{data.NewMap("search_user", "sudo_*"), apply},
		{data.NewMap("search_minion", "web1"), ping + " " + asked},
		{data.NewMap("without_function", []any{"runner.*", "saltutil.find_job"}, "limit", int64(9)), ping + " " + apply},
	} {
		got, err := r.Invoke(t.Context(), "jobs.list_jobs", nil, tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if ids := strings.Join(data.Texts(got.(*data.Map).Keys()), " "); ids != tt.want {
			t.Errorf("%s: %s, want %s", data.Repr(tt.words), ids, tt.want)
		}
	}
	got, err := r.Invoke(t.Context(), "jobs.list_jobs", nil, data.NewMap("progress", true, "search_function", "test.*"))
	if err != nil {
		t.Fatal(err)
	}
	one := got.(*data.Map).Value(ping).(*data.Map)
	if text := data.Repr(one.Value("Progress")); text != "{'sent': 1, 'returned': 1}" {
		t.Errorf("the states of the job are %s", text)
	}
	for _, tt := range []struct {
		fun   string
		words *data.Map
		field string
		want  string
	}{
		{"list_job", data.NewMap("minions", []any{}), "Result", "{}"},
		{"list_job", data.NewMap("minions", []any{"web1"}), "Result", "{'web1': {'return': True, 'retcode': 0, 'success': True}}"},
		{"status", data.NewMap("returns", true), "web1",
			"{'state': 'returned', 'since': '2023, Jan 02 03:04:05.060708', 'retcode': 0, 'success': True, 'size': 1, 'return': True}"},
	} {
		got, err := r.Invoke(t.Context(), "jobs."+tt.fun, []any{ping}, tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if text := data.Repr(got.(*data.Map).Value(tt.field)); text != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.fun, data.Repr(tt.words), text, tt.want)
		}
	}
}

func TestListJobsByTime(t *testing.T) {
	r := filled(t)
	for _, tt := range []struct {
		since, until any
		want         string
	}{
		{"2023, Jan 03", nil, apply + " " + asked + " " + own},
		{"2023-01-03 03:04:06", nil, asked + " " + own},
		{nil, "2023, Jan 02 03:05", ping},
		{"2 Jan 2023 03:04", "2023-01-03T04:00:00", ping + " " + apply},
		{"01/04/2023", nil, asked + " " + own},
	} {
		got, err := r.Invoke(t.Context(), "jobs.list_jobs", nil,
			data.NewMap("start_time", tt.since, "end_time", tt.until))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for id := range got.(*data.Map).All() {
			ids = append(ids, id.(string))
		}
		if strings.Join(ids, " ") != tt.want {
			t.Errorf("from %v until %v: %v, want %s", tt.since, tt.until, ids, tt.want)
		}
	}
	if _, err := r.Invoke(t.Context(), "jobs.list_jobs", nil,
		data.NewMap("start_time", "some day")); err == nil {
		t.Error("a time that is none is taken")
	}
}

func TestActiveAsksMinionsAndTheCache(t *testing.T) {
	var given *data.Map
	s, r := shelf(t, func(_ context.Context, order *data.Map, yield func(string, *data.Map) bool) error {
		given = order
		note := data.NewMap("fun", "test.sleep", "arg", []any{int64(9)}, "tgt", "*", "tgt_type",
			"glob", "user", "root", "jid", ping, "pid", int64(42))
		yield("web1", data.NewMap("ret", []any{note}))
		yield("web2", data.NewMap("ret", []any{note}))
		yield("web3", data.NewMap("ret", "no list"))
		return nil
	})
	save(t, s, ping, data.NewMap("fun", "test.sleep"), []string{"web3"}, data.NewMap("web3", true))
	got, err := r.Invoke(t.Context(), "jobs.active", nil, nil)
	want := "{'" + ping + "': {'Function': 'test.sleep', 'Arguments': [9], 'Target': '*', 'Target-type': 'glob', 'User': 'root', 'StartTime': '2023, Jan 02 03:04:05.060708', " +
		"'Running': [{'web1': 42}, {'web2': 42}], 'Returned': ['web3']}}"
	if err != nil || data.Repr(got) != want {
		t.Errorf("active is %s, %v\nwant %s", data.Repr(got), err, want)
	}
	if given.Text("fun") != "saltutil.running" {
		t.Errorf("minions were asked %s", data.Repr(given))
	}
}

// BenchmarkListJobs lists 10,000 jobs.
func BenchmarkListJobs(b *testing.B) {
	r := manyJobs(b, 10_000)
	for b.Loop() {
		v, err := r.Invoke(b.Context(), "jobs.list_jobs", nil, nil)
		if m, _ := v.(*data.Map); err != nil || m.Len() != 10_000 {
			b.Fatalf("%d jobs, %v", m.Len(), err)
		}
	}
}

// BenchmarkStatus reads the states of a job with returns of 20 kB, with what is known of the returns and
// without. The memory for a minion does not grow with the returns.
func BenchmarkStatus(b *testing.B) {
	for _, minions := range []int{100, 1000} {
		s, r := shelf(b, nil)
		answers, ids := data.NewMap(), []string{}
		for i := range minions {
			ids = append(ids, fmt.Sprintf("web%d", i))
			answers.Set(ids[i], strings.Repeat("x", 20_000))
		}
		save(b, s, ping, data.NewMap("fun", "cmd.run"), ids, answers)
		for _, words := range []*data.Map{data.NewMap(), data.NewMap("returns", true)} {
			b.Run(fmt.Sprintf("minions=%d/returns=%v", minions, words.Has("returns")), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v, err := r.Invoke(b.Context(), "jobs.status", []any{ping}, words)
					if m, _ := v.(*data.Map); err != nil || m.Len() != minions {
						b.Fatalf("%d minions, %v", m.Len(), err)
					}
				}
			})
		}
	}
}

// A countingCache counts the returns that are read from a job cache.
type countingCache struct {
	*jobstore.Store
	read int
}

func (c *countingCache) WalkReturns(
	ctx context.Context, id job.ID, minions []string, visit func(returners.Return) error,
) error {
	return c.Store.WalkReturns(ctx, id, minions, func(r returners.Return) error {
		c.read++
		return visit(r)
	})
}

func (c *countingCache) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	list, err := c.Store.Returns(ctx, id)
	c.read += len(list)
	return list, err
}

// TestOnlyWhatIsShownIsRead checks that functions read no returns beyond those that they give.
func TestOnlyWhatIsShownIsRead(t *testing.T) {
	s, _ := shelf(t, nil)
	save(t, s, ping, data.NewMap("fun", "test.ping"), []string{"a", "b", "c"}, data.NewMap("a", true, "b", true, "c", true))
	cache := &countingCache{Store: s}
	env := &loader.Env{Opts: data.NewMap("timeout", int64(5))}
	env.Host.Order = func(_ context.Context, _ *data.Map, yield func(string, *data.Map) bool) error {
		yield("d", data.NewMap("ret", []any{data.NewMap("jid", ping, "fun", "test.ping", "pid", int64(1))}))
		return nil
	}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(Needs{Jobs: cache})})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fun   string
		args  []any
		words *data.Map
		want  int
	}{
		{"status", []any{ping}, nil, 0},
		{"status", []any{ping}, data.NewMap("returns", true), 3},
		{"list_jobs", nil, data.NewMap("progress", true), 0},
		{"list_job", []any{ping}, data.NewMap("minions", []any{}), 0},
		{"list_job", []any{ping}, data.NewMap("minions", []any{"b"}), 1},
		{"list_job", []any{ping}, nil, 3},
		{"active", nil, nil, 0},
	} {
		cache.read = 0
		got, err := r.Invoke(t.Context(), "jobs."+tt.fun, tt.args, tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if cache.read != tt.want {
			t.Errorf("%s %s reads %d returns, want %d: %s", tt.fun, data.Repr(tt.words), cache.read, tt.want, data.Repr(got))
		}
	}
}

// TestStatusOfNoJob checks that a missing job gives a sentence and no traceback.
func TestStatusOfNoJob(t *testing.T) {
	r := filled(t)
	for jid, want := range map[string]string{
		"20200101000000000000": "The job 20200101000000000000 is not in the job cache.",
		"nope":                 `"nope" is not the id of a job.`,
	} {
		_, err := r.Invoke(t.Context(), "jobs.status", []any{jid}, nil)
		var unable *runners.UnableError
		if !errors.As(err, &unable) || unable.Text != want {
			t.Errorf("%s: %v, want %s", jid, err, want)
		}
	}
}

// TestNewestAreFound checks that a limit counts the jobs that fit, however many others are newer.
func TestNewestAreFound(t *testing.T) {
	s, r := shelf(t, nil)
	const others = firstJobs*moreJobs + 20
	for i := range others {
		fun := "test.ping"
		if i < 3 {
			fun = "test.echo"
		}
		load := data.NewMap("fun", fun, "tgt", "web1", "tgt_type", "glob", "user", "root")
		save(t, s, fmt.Sprintf("20230102030405%06d", i), load, []string{"web1"}, nil)
	}
	for _, tt := range []struct {
		fun   string
		limit int64
		want  string
	}{
		{"test.echo", 2, "20230102030405000001 20230102030405000002"},
		{"test.echo", 9, "20230102030405000000 20230102030405000001 20230102030405000002"},
		{"test.ping", 1, fmt.Sprintf("20230102030405%06d", others-1)},
		{"nosuch", 1, ""},
		{"test.echo", 1 << 62, "20230102030405000000 20230102030405000001 20230102030405000002"},
	} {
		words := data.NewMap("search_function", tt.fun, "limit", tt.limit)
		got, err := r.Invoke(t.Context(), "jobs.list_jobs", nil, words)
		if err != nil {
			t.Fatal(err)
		}
		if ids := strings.Join(data.Texts(got.(*data.Map).Keys()), " "); ids != tt.want {
			t.Errorf("limit %d of %s: %s, want %s", tt.limit, tt.fun, ids, tt.want)
		}
	}
}

// BenchmarkNewestJobs lists the 50 newest jobs of a full cache. The ratio is the time by that for a cache
// with a tenth of its jobs.
func BenchmarkNewestJobs(b *testing.B) {
	small, full := manyJobs(b, 1000), manyJobs(b, 10_000)
	words := data.NewMap("limit", int64(50), "search_function", "test.*")
	var took [2]time.Duration
	for b.Loop() {
		for i, r := range []*loader.Registry{small, full} {
			begin := time.Now()
			v, err := r.Invoke(b.Context(), "jobs.list_jobs", nil, words)
			took[i] += time.Since(begin)
			if m, _ := v.(*data.Map); err != nil || m.Len() != 50 {
				b.Fatalf("%d jobs, %v", m.Len(), err)
			}
		}
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "ns/1000")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "ns/10000")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// manyJobs returns the runner on top of a cache with many jobs.
func manyJobs(b *testing.B, n int) *loader.Registry {
	s, r := shelf(b, nil)
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var saving errgroup.Group
	for part := range 64 {
		saving.Go(func() error {
			for i := part; i < n; i += 64 {
				at := start.Add(time.Duration(i) * time.Second)
				raw, err := payload.MarshalBin(data.NewMap("fun", "test.ping", "arg", []any{int64(i)},
					"tgt", fmt.Sprintf("web%d", i), "tgt_type", "glob", "user", "root"))
				if err != nil {
					return err
				}
				err = s.SaveJob(b.Context(), &returners.Job{ID: job.NewID(at), Load: raw,
					Minions: []string{"web1"}, Started: at})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := saving.Wait(); err != nil {
		b.Fatal(err)
	}
	return r
}
