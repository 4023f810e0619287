package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A gateOf answers orders with a function, and keeps them.
type gateOf struct {
	answer func(ctx context.Context, low *data.Map) (any, error)
	orders []*data.Map
	caller netapi.Caller // of the last order
}

func (g *gateOf) Order(ctx context.Context, caller netapi.Caller, low *data.Map) (*netapi.Answer, error) {
	g.orders, g.caller = append(g.orders, low), caller
	v, err := g.answer(ctx, low)
	if err != nil {
		return nil, err
	}
	return &netapi.Answer{Items: []any{v}}, nil
}

// askerOf returns an asker in front of a gate that gives one answer.
func askerOf(t *testing.T, v any, err error) (*asker, *gateOf) {
	gate := &gateOf{answer: func(context.Context, *data.Map) (any, error) { return v, err }}
	caller := netapi.Caller{User: "ada"}
	return &asker{gate: gate, caller: caller, ctx: t.Context(), absent: &absences{}, now: time.Now}, gate
}

// wantFault checks the status and the text of a fault.
func wantFault(t *testing.T, err error, status int, text string) {
	t.Helper()
	f, ok := errors.AsType[*netapi.Fault](err)
	if !ok || f.Status != status || f.Text != text {
		t.Errorf("the error is %v, want %d %s", err, status, text)
	}
}

func TestAskerOrdersForItsUser(t *testing.T) {
	ask, gate := askerOf(t, data.NewMap("jobs", int64(2)), nil)
	m, err := ask.runnerMap("jobs.active", "ext_source", "cache")
	if err != nil || m.Value("jobs") != int64(2) {
		t.Fatalf("the runner has returned %v, %v", m, err)
	}
	want := data.NewMap("client", "runner", "fun", "jobs.active", "nocache", true,
		"kwarg", data.NewMap("ext_source", "cache"))
	if !data.Equal(gate.orders[0], want) || gate.caller.User != "ada" {
		t.Errorf("the order of %q is %s", gate.caller.User, data.Repr(gate.orders[0]))
	}
}

// A function that the master lacks is asked for again when some minutes have gone.
func TestAskerRemembersAbsence(t *testing.T) {
	ask, gate := askerOf(t, "KeyError: \"'manage.fleet' is not available.\"", nil)
	now := time.Now()
	ask.now = func() time.Time { return now }
	for _, step := range []struct {
		later  time.Duration
		orders int
	}{{0, 1}, {absentFor - time.Second, 1}, {time.Second, 2}} {
		now = now.Add(step.later)
		_, err := ask.runnerMap(fleetRunner)
		if !errors.Is(err, errNoFunction) || len(gate.orders) != step.orders {
			t.Errorf("%v later: %d orders, want %d: %v", step.later, len(gate.orders), step.orders, err)
		}
	}
}

func TestAskerReadsWheel(t *testing.T) {
	answer := func(words ...any) *data.Map { return data.NewMap("data", data.NewMap(words...)) }
	ask, _ := askerOf(t, answer("success", true, "return", "done"), nil)
	if v, err := ask.wheel("key.accept"); v != "done" || err != nil {
		t.Errorf("the wheel function has returned %v, %v", v, err)
	}
	why := "Traceback (most recent call last):\nsalt.exceptions.X: it is shut"
	ask, _ = askerOf(t, answer("success", false, "return", why), nil)
	_, err := ask.wheel("key.accept")
	wantFault(t, err, http.StatusBadRequest, "The master could not do key.accept: it is shut")
}

func TestAskerCallsOneMinion(t *testing.T) {
	ask, gate := askerOf(t, data.NewMap("m1", data.NewMap("ret", "pong")), nil)
	if v, err := ask.call("m1", "test.ping"); v != "pong" || err != nil {
		t.Errorf("the call has returned %v, %v", v, err)
	}
	if _, err := ask.change("m1", "test.ping"); err != nil {
		t.Error(err)
	}
	if call, change := gate.orders[0], gate.orders[1]; call.Value("nocache") != true || change.Has("nocache") {
		t.Errorf("the orders are %s and %s", data.Repr(call), data.Repr(change))
	}
	_, err := ask.call("m2", "test.ping")
	wantFault(t, err, http.StatusGatewayTimeout, "m2 does not answer.")
}

func TestAskerNamesTheRight(t *testing.T) {
	refusal := &netapi.Fault{Status: http.StatusUnauthorized, Text: "Authentication failure for user ada."}
	ask, _ := askerOf(t, nil, refusal)
	_, err := ask.runner("jobs.active")
	wantFault(t, err, http.StatusUnauthorized, "You lack the right @runner to jobs.active.")
	_, err = ask.call("m1", "test.ping")
	wantFault(t, err, http.StatusUnauthorized, "You have no right to test.ping on m1.")
}

func TestAskerSendsToNobody(t *testing.T) {
	ask, gate := askerOf(t, data.NewMap(), nil)
	_, err := ask.send(data.NewMap("tgt", "web*", "tgt_type", "glob", "fun", "test.ping"))
	wantFault(t, err, http.StatusBadRequest, "No minion matches the target web* (glob). Nothing was sent.")
	if gate.orders[0].Text("client") != "local_async" {
		t.Errorf("the order is %s", data.Repr(gate.orders[0]))
	}
}

func TestAskerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask, gate := askerOf(t, nil, nil)
		gate.answer = func(ctx context.Context, _ *data.Map) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		_, err := ask.runner("jobs.active")
		wantFault(t, err, http.StatusGatewayTimeout, "The master has not answered within 15 seconds.")
		if took := time.Since(began); took != wait {
			t.Errorf("the asker has waited %v, want %v", took, wait)
		}
		gone, leave := context.WithCancel(t.Context())
		ask.ctx = gone
		leave()
		if _, err := ask.runner("jobs.active"); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v for a browser that has gone", err)
		}
	})
}

// A form that is carried out once asks on when its browser has gone.
func TestAskerOutlivesItsBrowser(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(gone, http.MethodPost, "/run", nil)
	ask, gate := askerOf(t, nil, nil)
	ask.ctx = gone
	gate.answer = func(ctx context.Context, _ *data.Map) (any, error) { return nil, ctx.Err() }
	q := &request{site: &site{}, w: httptest.NewRecorder(), r: r, ask: ask, jobs: jobCache{ask}}
	var key [sha256.Size]byte
	form, _ := q.sent.begin(key, time.Now())
	err := q.first(key, form, func(q *request) error {
		_, err := q.jobs.ask.runner("jobs.active")
		return err
	})
	if err != nil {
		t.Errorf("the form is not carried out: %v", err)
	}
}

// What the master says of minions can be read without a browser.
func TestMinionsOfSalt(t *testing.T) {
	ask, gate := askerOf(t, nil, nil)
	gate.answer = func(_ context.Context, low *data.Map) (any, error) {
		switch fun := low.Text("fun"); fun {
		case "key.list_all":
			keys := data.NewMap(stateAccepted, []any{"web2", "db1", "web1"})
			return data.NewMap("data", data.NewMap("success", true, "return", keys)), nil
		case "manage.present":
			return []any{"web2", "db1"}, nil
		default:
			return "'" + fun + "' is not available.", nil
		}
	}
	r, err := minions{ask}.roster(rosterAsk{tgt: "web*", kind: "glob", limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.total != 2 || r.connected != 1 || len(r.members) != 1 || r.members[0].id != "web1" || r.next != "web1" {
		t.Errorf("the roster is %+v", r)
	}
	p := minions{ask}.preview(target{"web1,web2,gone", "list"})
	if !p.Known || p.Total != 2 || p.Connected != 1 || p.Strangers != "gone" {
		t.Errorf("the preview is %+v", p)
	}
}
