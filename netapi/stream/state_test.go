package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func TestFormatEventsIsSalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWSServer(WebSocketOptions{FormatEvents: true})
		c := s.connect(t)
		say(t, c, readyText)
		want := loadSalt(t).Formatted
		hear(t, c, want[0])
		synctest.Wait()
		for i, text := range want[1:] {
			fireJSON(t, s.hub, `{"data": {"fun": "test.arg"}, "tag": "salt/netapi/hook/x"}`)
			fireJSON(t, s.hub, `{"data": {"minions": ["m1"]}, "tag": "20261122174253391510"}`)
			fireJSON(t, s.hub, cause(t, want[i], text))
			hear(t, c, text)
		}
	})
}

// cause returns the event that led from one state of jobs to the next.
func cause(t *testing.T, before, after string) string {
	t.Helper()
	type minion struct {
		Return  json.RawMessage `json:"return"`
		Retcode json.RawMessage `json:"retcode"`
		Success bool            `json:"success"`
	}
	type job struct {
		JID     string            `json:"jid"`
		Start   string            `json:"start_time"`
		Minions map[string]minion `json:"minions"`
		Fun     string            `json:"fun"`
		Tgt     json.RawMessage   `json:"tgt"`
		TgtType string            `json:"tgt_type"`
	}
	var old, now struct {
		Jobs map[string]job `json:"jobs"`
	}
	json.Unmarshal([]byte(before), &old) //nolint:errcheck // the first text is no JSON
	if err := json.Unmarshal([]byte(after), &now); err != nil {
		t.Fatal(err)
	}
	for jid, j := range now.Jobs {
		for id, m := range j.Minions {
			if _, known := old.Jobs[jid]; !known && m.Return == nil {
				return fmt.Sprintf(`{"tag": "salt/job/%s/new", "data": {"jid": %q, "tgt_type": %q, "tgt": %s, `+
					`"user": "x", "fun": %q, "arg": [], "minions": [%q], "missing": [], "_stamp": %q}}`,
					jid, j.JID, j.TgtType, j.Tgt, j.Fun, id, j.Start)
			}
			if m.Return != nil && old.Jobs[jid].Minions[id].Return == nil {
				return fmt.Sprintf(`{"tag": "salt/job/%s/ret/%s", "data": {"success": %v, "return": %s, `+
					`"retcode": %s, "jid": %q, "fun": "x.y", "id": %q}}`,
					jid, id, m.Success, m.Return, m.Retcode, jid, id)
			}
		}
	}
	t.Fatalf("nothing changed from %s to %s", before, after)
	return ""
}

// A stateCase is an event and the texts that it causes.
type stateCase struct {
	tag  string
	data []any
	want []string
}

func checkState(t *testing.T, s *state, cases []stateCase) (joined []string) {
	t.Helper()
	hub := New(Options{})
	for _, c := range cases {
		texts, more := s.process(Item{newEntry(hub, event(t, c.tag, c.data...))})
		joined = append(joined, more...)
		var got []string
		for _, b := range texts {
			got = append(got, string(b))
		}
		equalTags(t, got, c.want...)
	}
	return joined
}

func TestStateOfMinions(t *testing.T) {
	ret := []any{"fun", "grains.items", "return", "G", "retcode", int64(0), "success", true}
	joined := checkState(t, newState(0, newBudget(1<<30)), []stateCase{
		{"salt/key", []any{"act", "accept", "id", "m1"}, []string{`{"minions": [{"id": "m1"}]}`}},
		{"salt/key", []any{"act", "pend", "id", "m9"}, []string{`{"minions": [{"id": "m1"}]}`}},
		{"salt/job/1/ret/m2", ret, []string{
			`{"jobs": {"1": {"minions": {"m2": {"return": "G", "retcode": 0, "success": true}}, ` +
				`"state": "complete"}}}`,
			`{"minions": [{"id": "m1"}, {"grains": "G", "id": "m2"}]}`}},
		{"salt/presence/present", []any{"present", []any{"m2", "m3", "m4"}},
			[]string{`{"minions": [{"grains": "G", "id": "m2"}]}`}},
		{"salt/presence/present", []any{"present", []any{"m2"}}, nil},
		{"salt/key", []any{"act", "delete", "id", "m2"}, []string{`{"minions": []}`}},
	})
	equalTags(t, joined, "m3", "m4")
}

func TestStateForgetsMinionsWhenAllAreAskedForGrains(t *testing.T) {
	checkState(t, newState(0, newBudget(1<<30)), []stateCase{
		{"salt/key", []any{"act", "accept", "id", "m1"}, []string{`{"minions": [{"id": "m1"}]}`}},
		{"salt/job/1/new", []any{"jid", "1", "minions", []any{}, "fun", "grains.items", "tgt", "*",
			"tgt_type", "glob", "_stamp", "S"},
			[]string{`{"jobs": {"1": {"jid": "1", "start_time": "S", "minions": {}, "fun": "grains.items", ` +
				`"tgt": "*", "tgt_type": "glob", "state": "running"}}}`}},
		{"salt/key", []any{"act", "accept", "id", "m2"}, []string{`{"minions": [{"id": "m2"}]}`}},
	})
}

func TestStateOfAFailedJobStaysRunning(t *testing.T) {
	checkState(t, newState(0, newBudget(1<<30)), []stateCase{{"salt/job/1/ret/m",
		[]any{"return", "x", "retcode", int64(1), "success", false},
		[]string{`{"jobs": {"1": {"minions": {"m": {"return": "x", "retcode": 1, "success": false}}}}}`}}})
}

func TestStateIgnoresOtherEvents(t *testing.T) {
	var cases []stateCase
	for _, tag := range []string{"", "job", "salt/job", "salt/job/1", "salt/job/1/new", "salt/job/1/ret",
		"salt/job/1/ret/a/b", "salt/job/1/ret/m", "salt/key", "salt/presence/change", "salt/auth"} {
		cases = append(cases, stateCase{tag, []any{"new", []any{}}, nil})
	}
	checkState(t, newState(0, newBudget(1<<30)), cases)
}

func TestStateIsLimited(t *testing.T) {
	s, hub := newState(10_000, newBudget(1<<30)), New(Options{})
	var texts [][]byte
	process := func(tag string, pairs ...any) {
		texts, _ = s.process(Item{newEntry(hub, event(t, tag, pairs...))})
	}
	large := strings.Repeat("x", 2000)
	for i := range 100 {
		process(fmt.Sprintf("salt/job/%d/ret/m", i), "return", large)
	}
	if n := len(texts[0]); n < 6000 || n > 11_000 || !strings.Contains(string(texts[0]), `"99"`) {
		t.Errorf("text of %d bytes", n)
	}
	for i := range 100 {
		process(fmt.Sprintf("salt/job/0/ret/m%d", i), "return", large)
		if n := len(texts[0]); n > 21_000 {
			t.Fatalf("one job has %d bytes", n)
		}
	}
	for i := range 1000 {
		process("salt/key", "act", "accept", "id", fmt.Sprint("minion", i))
	}
	if n := len(texts[0]); n > 11_000 {
		t.Errorf("minions have %d bytes", n)
	}
}

func TestStateSaysWhatWasLost(t *testing.T) {
	hub := New(Options{})
	texts, _ := newState(0, newBudget(1<<30)).process(Item{newNotice(hub, Lost{Events: 3, Reason: LostOverrun})})
	const begin = `{"notice": {"lost": 3, "reason": "overrun", "_stamp": "`
	if len(texts) != 1 || !strings.HasPrefix(string(texts[0]), begin) {
		t.Errorf("texts %q", texts)
	}
}

// TestStatesHaveABudget checks that all websockets with the state of jobs together keep a limited size.
func TestStatesHaveABudget(t *testing.T) {
	hub := New(Options{StateBytes: 10_000})
	var all []*state
	for range 50 {
		s := newState(0, hub.states)
		all = append(all, s)
		for i := range 20 {
			s.process(Item{newEntry(hub, event(t, fmt.Sprintf("salt/job/%d/ret/m", i), "return", strings.Repeat("x", 900)))})
			if hub.states.left.Load() < 0 {
				t.Fatalf("the states are larger than the budget by %d bytes", -hub.states.left.Load())
			}
		}
	}
	if n := all[0].jobs.entries.Len(); n < 5 {
		t.Errorf("the first has %d jobs", n)
	}
	for _, s := range all {
		s.close()
	}
	if left := hub.states.left.Load(); left != 10_000 {
		t.Errorf("%d bytes are left at the end", left)
	}
}
