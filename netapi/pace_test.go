package netapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// A slowMaster takes a second to check a password.
type slowMaster struct {
	*fakeMaster
	mu      sync.Mutex
	guesses int
	now     int
	most    int // logins at a time
}

func (m *slowMaster) LogIn(ctx context.Context, login *data.Map) (*data.Map, error) {
	m.mu.Lock()
	m.guesses++
	m.now++
	m.most = max(m.most, m.now)
	m.mu.Unlock()
	time.Sleep(time.Second)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now--
	return m.fakeMaster.LogIn(ctx, login)
}

// wantPause checks that an error is the refusal of a login within a pause.
func wantPause(t *testing.T, what string, err error) {
	t.Helper()
	f := FaultOf(err)
	if want := fmt.Sprintf("too many wrong passwords: try again in %d s", f.RetryAfter/time.Second); f.Status != 429 ||
		f.RetryAfter < time.Second || f.Text != want {
		t.Errorf("%s: %d %q, to be sent again after %v", what, f.Status, f.Text, f.RetryAfter)
	}
}

// TestThePauseSaysWhenItEnds checks that a login is right at the time that its refusal names.
func TestThePauseSaysWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, audit := newGate(&Door{})
		for range freeMistakes + 3 {
			_, err := g.LogIn(t.Context(), login("nobody", "wrong"), here, "")
			for FaultOf(err).Status == 429 {
				wantPause(t, "a wrong password", err)
				time.Sleep(FaultOf(err).RetryAfter)
				_, err = g.LogIn(t.Context(), login("nobody", "wrong"), here, "")
			}
			wantFault(t, "a wrong password", err, 401, textBadLogin)
		}
		time.Sleep(500 * time.Millisecond)
		_, err := g.LogIn(t.Context(), login("nobody", "right"), here, "")
		wantFault(t, "within the pause", err, 429, "too many wrong passwords: try again in 7 s")
		w := httptest.NewRecorder()
		if FaultOf(err).SetHeaders(w.Header()); w.Header().Get("Retry-After") != "7" {
			t.Errorf("the answer has the headers %v", w.Header())
		}
		if !strings.Contains(audit.String(), "login refused: too many wrong passwords: try again in 7 s") {
			t.Errorf("the log has not the pause: %s", audit)
		}
		time.Sleep(7 * time.Second)
		if _, err := g.LogIn(t.Context(), login("nobody", "right"), here, ""); err != nil {
			t.Error("after the pause: ", err)
		}
	})
}

// TestALoginWithoutAFieldIsNoGuess checks that the answer names the field, and that no pause begins.
func TestALoginWithoutAFieldIsNoGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, _ := newGate(&Door{})
		began := time.Now()
		for range 2 * freeMistakes {
			for _, field := range []string{"username", "password", "eauth"} {
				lacking := login("ann", "right")
				lacking.Delete(field)
				_, err := g.LogIn(t.Context(), lacking, here, "")
				wantFault(t, "without "+field, err, 401, textBadLogin+": the field "+field+" is missing")
			}
		}
		odd := login("ann", "right")
		odd.Set("eauth", int64(1))
		_, err := g.LogIn(t.Context(), odd, here, "")
		wantFault(t, "a number", err, 401, textBadLogin+": the field eauth must be a text")
		if _, err := g.LogIn(t.Context(), login("ann", "right"), here, ""); err != nil || time.Since(began) != 0 {
			t.Errorf("a whole login: %v after %v", err, time.Since(began))
		}
	})
}

// TestParallelGuessesCount sends many wrong logins at once: the pause must hold as if they came one after
// the other.
func TestParallelGuessesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, fake, _ := newGate(&Door{})
		m := &slowMaster{fakeMaster: fake}
		g.Master = m
		var all sync.WaitGroup
		var refused atomic.Int32
		for range 200 {
			all.Go(func() {
				_, err := g.LogIn(t.Context(), login("ann", "wrong"), here, "")
				if FaultOf(err).Status == 401 {
					refused.Add(1)
					return
				}
				wantPause(t, "a guess", err)
			})
		}
		all.Wait()
		if refused.Load() != freeMistakes+1 {
			t.Errorf("%d guesses are refused as wrong", refused.Load())
		}
		if m.guesses != freeMistakes+1 || m.most > freeMistakes {
			t.Errorf("the master has checked %d passwords, %d at a time", m.guesses, m.most)
		}
	})
}

// TestRightLoginsDoNotWait checks that a program that sends many orders with its password is not slowed
// down.
func TestRightLoginsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, fake, _ := newGate(&Door{})
		m := &slowMaster{fakeMaster: fake}
		g.Master = m
		if _, err := g.LogIn(t.Context(), login("ann", "right"), here, ""); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := g.LogIn(t.Context(), login("ann", "right"), here, ""); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != time.Second {
			t.Errorf("20 right logins take %v", took)
		}
	})
}

// TestGuessesWhoseClientLeavesCount checks guesses whose answer nobody reads: a right one would be carried
// out all the same.
func TestGuessesWhoseClientLeavesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, _ := newGate(&Door{})
		order := func(password string, err error) error {
			m.err = err
			low := login("ann", password)
			low.Update(data.NewMap("client", "local", "tgt", "*", "fun", "test.ping"))
			_, err = g.Order(t.Context(), Caller{From: here}, low)
			return err
		}
		gone := because(statusGone, context.Canceled, textGone)
		for range 2 * freeMistakes {
			_ = order("right", because(statusGone, errProved, textGone))
		}
		for range 2 * freeMistakes {
			_ = order("right", gone) // known to be right
		}
		for i := range freeMistakes + 1 {
			_ = order("guess", []error{gone, because(504, nil, textLate), context.Canceled}[i%3])
		}
		wantPause(t, "within the pause", order("right", nil))
	})
}

func TestAWaitingLoginEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(nil)
		for range freeMistakes {
			if _, err := p.enter(t.Context(), login("ann", "x"), here); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.enter(ctx, login("ann", "x"), here)
		wantFault(t, "a login that waits", err, http.StatusServiceUnavailable, textBusy)
		if after := FaultOf(err).RetryAfter; after != mistakePause {
			t.Errorf("it may be sent again after %v", after)
		}
	})
}

// TestThePauseKnowsItsUser checks that another spelling, another address of the same network and another
// door are no way around the pause.
func TestThePauseKnowsItsUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _, _ := newGate(&Door{})
		other, _, _ := newGate(&Door{})
		first.Pace = NewPace(nil)
		other.Pace = first.Pace
		for i := range freeMistakes + 1 {
			from := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: byte(i)})
			name := []string{"ann", "ANN", " ann"}[i%3]
			_, _ = first.LogIn(t.Context(), login(name, "wrong"), from, "")
		}
		for _, from := range []string{"2001:db8::ff", "2001:db8:0:0:1::"} {
			_, err := other.LogIn(t.Context(), login("Ann", "right"), netip.MustParseAddr(from), "")
			wantPause(t, "within the pause from "+from, err)
		}
		if _, err := other.LogIn(t.Context(), login("ann", "right"), netip.MustParseAddr("2001:db8:0:1::1"), ""); err != nil {
			t.Error("from another network: ", err)
		}
	})
}

func TestMistakesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(nil)
		who := func(i int) offender {
			return offender{from: Network(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))}
		}
		mistake := func(i int, o outcome) {
			t.Helper()
			if wait, err := p.begin(who(i), nil); wait != nil || err != nil {
				t.Fatal(wait, err)
			}
			p.end(who(i), nil, o)
		}
		mistake(0, wrongLogin)
		for i := range mostOffenders + 10 {
			mistake(i+1, unknownLogin)
		}
		if len(p.known) > mostOffenders || p.known[who(0)] == nil {
			t.Errorf("%d attempts are kept; that with a mistake is there: %v", len(p.known), p.known[who(0)] != nil)
		}
		for range freeMistakes - 1 {
			mistake(0, wrongLogin)
		}
		time.Sleep(mistakesCount)
		mistake(0, wrongLogin)
		if a := p.known[who(0)]; a.wrong != 1 {
			t.Errorf("%d mistakes count after an hour", a.wrong)
		}
	})
}

// TestPausesLast checks that no pause ends early because others make mistakes.
func TestPausesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(nil)
		mistake := func(who offender) int {
			for {
				_, err := p.begin(who, nil)
				if err != nil {
					return FaultOf(err).Status
				}
				p.end(who, nil, wrongLogin)
			}
		}
		network := func(i int) netip.Prefix {
			return Network(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		}
		first := offender{"ann", network(0)}
		if got := mistake(first); got != 429 {
			t.Fatalf("a pause begins with %d", got)
		}
		for i := range mostOfNetwork {
			mistake(offender{fmt.Sprint(i), network(1)})
		}
		if got := mistake(offender{"one more", network(1)}); got != 503 {
			t.Errorf("one more of a network: %d", got)
		}
		for i := range mostOffenders - mostOfNetwork - 1 {
			if got := mistake(offender{"ann", network(i + 2)}); got != 429 {
				t.Fatalf("%d: %d", i, got)
			}
		}
		if got := mistake(offender{"ann", network(mostOffenders + 2)}); got != 503 {
			t.Errorf("one more of all: %d", got)
		}
		if p.known[first] == nil || mistake(first) != 429 || len(p.known) > mostOffenders {
			t.Error("the first pause has ended early")
		}
		time.Sleep(time.Minute)
		if got := mistake(offender{"ann", network(mostOffenders + 2)}); got != 429 {
			t.Errorf("when the pauses are over: %d", got)
		}
	})
}
