package client

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
)

// A watcher notes what it is told of a batch.
type watcher struct{ answered []string }

func (*watcher) Down([]string)             {}
func (*watcher) Starting([]string) error   { return nil }
func (*watcher) Silent(string)             {}
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
