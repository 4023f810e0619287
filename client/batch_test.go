package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
)

// A watcher notes what it is told of a batch.
type watcher struct{ answered, down, silent []string }

func (w *watcher) Down(ids []string)       { w.down = append(w.down, ids...) }
func (*watcher) Starting([]string) error   { return nil }
func (w *watcher) Silent(id string)        { w.silent = append(w.silent, id) }
func (w *watcher) Answered(r batch.Return) { w.answered = append(w.answered, r.Minion) }

var _ batch.Observer = (*watcher)(nil)

// TestReturnsAfterTheEndOfABatch has returns come after the end of their batch, as they do in a cluster:
// they are reported. One that never comes holds nothing up for ever, and one whose event was missed is read
// from the master's record.
func TestReturnsAfterTheEndOfABatch(t *testing.T) {
	for name, c := range map[string]struct{ late, want []string }{
		"all come":      {[]string{"b", "c"}, []string{"a", "b", "c"}},
		"one is missed": {[]string{"b"}, []string{"a", "b"}},
		"recorded":      {[]string{"b"}, []string{"a", "c", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.late) < 2 {
				need.Time(t, "it waits for a return")
			}
			m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
				switch {
				case load.Text("cmd") == jobReturns && name == "recorded":
					return recordedReply(t, false, "c")
				case load.Text("cmd") == jobReturns:
					return recordedReply(t, false)
				}
				m.fire(jid, "a", true, 0)
				m.fire("20260101000000000000", "b", true, 0) // of another job
				err := m.bus.Fire(eventbus.Tagify("batch", jid)+"/done",
					data.NewMap("done_minions", []any{"a", "b", "c"}, "not_started", []any{"d"}))
				for _, id := range c.late {
					m.fire(jid, id, true, 0)
				}
				if err != nil {
					t.Error(err)
				}
				return published(jid, "a", "b", "c")
			})
			l := m.open()
			j, err := l.Publish(t.Context(), Request{Target: "*", Kind: "glob", Fun: "test.ping"})
			if err != nil || j.ID != job.ID(jid) {
				t.Fatal(j, err)
			}
			var w watcher
			end, err := l.FollowBatch(t.Context(), j, &w, func() bool { return false })
			if err != nil || end == nil || !slices.Equal(end.NotStarted, []string{"d"}) {
				t.Fatalf("%+v, %v", end, err)
			}
			if !slices.Equal(w.answered, c.want) {
				t.Errorf("%v answered, want %v", w.answered, c.want)
			}
		})
	}
}

// A deafMaster does not answer the first requests for the state of a batch, as during its restart.
type deafMaster struct {
	*fakeMaster
	deaf int
}

func (d *deafMaster) Do(ctx context.Context, body []byte) ([]byte, error) {
	reply, err := d.fakeMaster.Do(ctx, body)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loads[len(d.loads)-1].Text("cmd") == batchState && d.deaf > 0 {
		d.deaf--
		return nil, errors.New("nobody answers")
	}
	return reply, err
}

// TestEndOfABatchThatWasMissed loses the event done, and others, in a gap of the bus or by a restart of the
// master: the client asks the master, and ends with what it says. Each minion's return counts once.
func TestEndOfABatchThatWasMissed(t *testing.T) {
	refusal := data.NewMap("error", data.NewMap("name", "AuthorizationError", "message", "no"))
	ended := data.NewMap("running", false, "end", data.NewMap("down_minions", []any{"x"},
		"done_minions", []any{"a", "b"}, "timedout_minions", []any{"c"}, "not_started", []any{"d"}))
	end := &BatchEnd{Done: []string{"a", "b"}, NotStarted: []string{"d"}}
	for name, tt := range map[string]struct {
		state   []*data.Map // the master's replies, the last one for good
		restart bool
		deaf    int // how many requests it does not answer
		want    *BatchEnd
		silent  []string
		err     error
	}{
		"a gap":                {state: []*data.Map{ended}, want: end, silent: []string{"c"}},
		"a restart":            {state: []*data.Map{ended}, restart: true, want: end, silent: []string{"c"}},
		"a slow restart":       {state: []*data.Map{ended}, restart: true, deaf: 1, want: end, silent: []string{"c"}},
		"it runs still":        {state: []*data.Map{data.NewMap("running", true)}, want: end},
		"a second gap":         {state: []*data.Map{data.NewMap("running", true), ended}, want: end, silent: []string{"c"}},
		"the event is trimmed": {state: []*data.Map{ended}, want: end, silent: []string{"c"}},
		"the end is forgotten": {state: []*data.Map{data.NewMap("running", false)},
			want: &BatchEnd{Done: []string{"a", "b"}, Error: "2 minions"}},
		"it does not tell": {state: []*data.Map{refusal}, err: ErrNotAuthorized},
		"it does not know": {state: []*data.Map{data.NewMap()}, err: errNoState},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.deaf > 0 {
				need.Time(t, "it waits until it asks again")
			}
			asked := 0
			gap := func(m *fakeMaster) {
				if err := m.bus.Fire(eventbus.DroppedTag, data.NewMap("dropped", int64(2))); err != nil {
					t.Error(err)
				}
			}
			m := newFakeMaster(t, func(m *fakeMaster, load *data.Map) *data.Map {
				switch load.Text("cmd") {
				case jobReturns:
					if asked++; asked < len(tt.state) {
						gap(m)
					} else if name == "it runs still" { // the event of a return that was read is late
						m.fire(jid, "b", true, 0)
						err := m.bus.Fire(eventbus.Tagify("batch", jid)+"/done",
							data.NewMap("done_minions", []any{"a", "b"}, "not_started", []any{"d"}))
						if err != nil {
							t.Error(err)
						}
					}
					return recordedReply(t, false, "b")
				case batchState:
					if load.Text("key") != "secret" || load.Text("jid") != jid {
						t.Errorf("request %s", data.Repr(load))
					}
					return tt.state[min(asked, len(tt.state)-1)]
				}
				m.fire(jid, "a", true, 0)
				switch {
				case tt.restart:
				case name == "the event is trimmed": // that of a batch with very many minions
					if err := m.bus.Fire(eventbus.Tagify("batch", jid)+"/done",
						data.NewMap("done_minions", "VALUE_TRIMMED", "not_started", []any{"d"})); err != nil {
						t.Error(err)
					}
				default:
					gap(m)
				}
				return published(jid, "a", "b", "c", "d")
			})
			l := m.open()
			l.opts.Out = &deafMaster{m, tt.deaf}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			j, err := l.Publish(ctx, Request{Target: "*", Kind: "glob", Fun: "test.ping"})
			if err != nil {
				t.Fatal(err)
			}
			if tt.restart {
				m.halt()
				m.serve()
			}
			var w watcher
			got, err := l.FollowBatch(ctx, j, &w, func() bool { return false })
			if tt.err != nil || err != nil {
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				return
			}
			if tt.want.Error != "" && got != nil && strings.Contains(got.Error, tt.want.Error) {
				got.Error = tt.want.Error
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("end:\n%s", d)
			}
			if d := cmp.Diff([]string{"a", "b"}, w.answered); d != "" {
				t.Errorf("answered:\n%s", d)
			}
			if d := cmp.Diff(tt.silent, w.silent); d != "" {
				t.Errorf("silent:\n%s", d)
			}
			if told := tt.silent != nil; told != slices.Equal(w.down, []string{"x"}) {
				t.Errorf("down: %v", w.down)
			}
			if asked == 0 {
				t.Error("the record was not read")
			}
		})
	}
}
