package minion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
)

// newTestWelcome returns an authenticator that receives these answers in a row, repeating the last
// one, and the times of its requests.
func newTestWelcome(
	cfg *config.Minion, answers ...error,
) (w *authenticator, asked *[]time.Duration, log *test.Hook) {
	logger, hook := test.NewNullLogger()
	logger.SetLevel(logrus.InfoLevel)
	asked = new([]time.Duration)
	start := time.Now()
	l := &link{m: newMinion(cfg, data.NewMap(), Options{Log: logger}), log: logger, gate: newGate(),
		contacted: newMilestone()}
	w = newAuthenticator(l, func(context.Context) (*channel.Credentials, error) {
		n := len(*asked)
		*asked = append(*asked, time.Since(start))
		if err := answers[min(n, len(answers)-1)]; err != nil {
			return nil, fmt.Errorf("sign in: %w", err)
		}
		return &channel.Credentials{}, nil
	})
	return w, asked, hook
}

// waiting returns the options of a minion that waits ten seconds between its sign-ins.
func waiting() *config.Minion {
	cfg := &config.Minion{}
	cfg.ID, cfg.AcceptanceWaitTime = "web1", 10*time.Second
	return cfg
}

func TestPauseGrowsWhileTheKeyIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := waiting()
		cfg.AcceptanceWaitTimeMax = 30 * time.Second
		pending := channel.ErrPending
		w, asked, log := newTestWelcome(cfg, pending, pending, pending, pending, nil)
		if _, err := w.authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "[0s 10s 30s 1m0s 1m30s]"; fmt.Sprint(*asked) != want {
			t.Errorf("asked at %v, want %s", *asked, want)
		}
		var lines []string
		for _, e := range log.AllEntries() {
			lines = append(lines, e.Message)
		}
		if len(lines) != 2 || !strings.Contains(lines[0], "salt-key -a web1") ||
			lines[1] != "Authentication with master successful" {
			t.Errorf("log:\n%s", strings.Join(lines, "\n"))
		}
		if !w.l.gate.isOpen() {
			t.Error("the gate is closed")
		}
	})
}

func TestPauseStaysWithoutAMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := waiting()
		cfg.MasterTries = 2
		w, asked, log := newTestWelcome(cfg, channel.ErrFull, channel.ErrFull, context.DeadlineExceeded, nil)
		if _, err := w.authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "[0s 10s 20s 30s]"; fmt.Sprint(*asked) != want {
			t.Errorf("asked at %v, want %s", *asked, want)
		}
		if n := len(log.AllEntries()); n != 4 { // full, master_tries, timeout, success
			t.Errorf("%d lines in the log", n)
		}
	})
}

func TestRejectedMinionEndsLikeSalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w, asked, log := newTestWelcome(waiting(), channel.ErrRejected)
		_, err := w.authenticate(t.Context())
		if !errors.Is(err, channel.ErrRejected) || len(*asked) != 1 || len(log.AllEntries()) != 1 {
			t.Errorf("enter = %v after %d requests, %d lines in the log", err, len(*asked),
				len(log.AllEntries()))
		}
		if took := time.Since(start); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A refusal that no known master has signed can be anybody's: the minion waits, and is let in once
// its master answers.
func TestThreatUnprovedRefusalMeansWait(t *testing.T) {
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		rejected := fmt.Errorf("%w (%w)", channel.ErrRejected, channel.ErrUnproved)
		denied := fmt.Errorf("%w: %w (%w)", channel.ErrRejected, channel.ErrDenied, channel.ErrUnproved)
		w, asked, log := newTestWelcome(waiting(), rejected, rejected, denied, nil)
		w.l.m.key = key
		if _, err := w.authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "[0s 10s 20s 30s]"; fmt.Sprint(*asked) != want {
			t.Errorf("asked at %v, want %s", *asked, want)
		}
		if first := log.AllEntries()[0].Message; !strings.HasPrefix(first,
			"A refusal of this minion's public key came") {
			t.Errorf("the log says %q", first)
		}
	})
}

// TestChangedMasterKeyNamesTheFile checks that the minion asks on, as Salt's does, and that its log
// says once which file holds the key.
func TestChangedMasterKeyNamesTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := waiting()
		cfg.PKIDir = "/etc/salt/pki/minion"
		w, asked, log := newTestWelcome(cfg, channel.ErrMasterKey, channel.ErrMasterKey, nil)
		if _, err := w.authenticate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "[0s 10s 20s]"; fmt.Sprint(*asked) != want {
			t.Errorf("asked at %v, want %s", *asked, want)
		}
		lines := log.AllEntries()
		if len(lines) != 2 || !strings.Contains(lines[0].Message, ". The stored key is "+
			filepath.FromSlash("/etc/salt/pki/minion/minion_master.pub")) {
			t.Errorf("the log says %v", lines)
		}
	})
}

// TestWithStoredKey holds which errors of a sign-in name the file of the stored key, for salt-call
// as well.
func TestWithStoredKey(t *testing.T) {
	at := filepath.Join("pki", "minion_master.pub")
	for _, tt := range []struct {
		err    error
		signed bool
		want   bool
	}{
		{channel.ErrMasterKey, false, true},
		{channel.ErrMasterKey, true, false}, // the signing key counts, not the stored one
		{channel.ErrOtherMaster, false, true},
		{channel.ErrFull, false, false},
	} {
		cfg := &config.Minion{MinionPaths: config.MinionPaths{PKIDir: "pki"}}
		cfg.VerifyMasterPubkeySign = tt.signed
		m := newMinion(cfg, data.NewMap(), Options{Log: logrus.New()})
		err := m.withStoredKey(fmt.Errorf("sign in: %w", tt.err))
		if !errors.Is(err, tt.err) || strings.Contains(err.Error(), at) != tt.want {
			t.Errorf("%v, want the file %v", err, tt.want)
		}
	}
	m := newMinion(&config.Minion{}, data.NewMap(), Options{Log: logrus.New()})
	if err := m.withStoredKey(nil); err != nil {
		t.Errorf("without an error: %v", err)
	}
}

func TestRejectedRetryGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := waiting()
		cfg.RejectedRetry = true
		w, asked, log := newTestWelcome(cfg, channel.ErrRejected)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if _, err := w.authenticate(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("enter = %v", err)
		}
		if len(*asked) != 361 && len(*asked) != 360 || len(log.AllEntries()) != 1 {
			t.Errorf("%d requests and %d lines in the log in an hour", len(*asked), len(log.AllEntries()))
		}
	})
}

func TestMasterAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"salt": "salt 4506", "salt:5000": "salt 5000", "10.0.0.1:1": "10.0.0.1 1",
		"::1": "::1 4506", "[::1]": "::1 4506", "[fe80::1%eth0]:99": "fe80::1%eth0 99", " salt ": "salt 4506",
		"salt:": "", "salt:0": "", "salt:65536": "", "salt:x": "", "": "", "a b": "", "a/b": "",
		"[::1": "::1 4506", "[[::1]]": "",
	} {
		a, err := parseMaster(text, 4506, false)
		if got := fmt.Sprint(a.host, " ", a.port); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("parseMaster(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	if a, err := parseMaster("salt:x", 4506, true); err == nil {
		t.Logf("ip_only: %v", a)
	}
	cfg := &config.Minion{}
	cfg.Master, cfg.MasterPort = []string{"a", "b:4506", "a:4506"}, 4506
	all, err := masters(cfg)
	if err != nil || len(all) != 2 {
		t.Errorf("masters = %v, %v", all, err)
	}
}

func FuzzMasterAddress(f *testing.F) {
	for _, text := range []string{"salt", "salt:5000", "[::1]:4506", "::1", "a:b:c", "[", "]:1"} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, hostOnly bool) {
		a, err := parseMaster(text, 4506, hostOnly)
		if err == nil && (a.host == "" || a.port < 1 || a.port > 65535 ||
			strings.ContainsAny(a.host, "[]/ \n")) {
			t.Errorf("parseMaster(%q) = %+v", text, a)
		}
	})
}

func TestLaneKeepsOrderAndBounds(t *testing.T) {
	q := &lane{parallel: 1, maxWaiting: 3, maxBytes: 100}
	hold, order := make(chan struct{}), make(chan int, 10)
	add := func(n, size int) bool {
		_, ok := q.add(func() { <-hold; order <- n }, size)
		return ok
	}
	for n, want := range []bool{true, true, true, true, false} {
		if got := add(n, 10); got != want {
			t.Errorf("errand %d is taken: %v", n, got)
		}
	}
	close(hold)
	q.done.Wait()
	for n := range 4 {
		if got := <-order; got != n {
			t.Errorf("errand %d came as number %d", got, n)
		}
	}
	hold = make(chan struct{})
	defer func() { close(hold); q.done.Wait() }()
	if !add(0, 1000) || add(1, 101) || !add(2, 100) || add(3, 1) {
		t.Error("the size of what waits is not bounded")
	}
}
