package testsalt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/internal/testsalt"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// pingAll gives minions a job, and returns those that answer.
func pingAll(t *testing.T, c *client.Local, target string) map[string]bool {
	t.Helper()
	job, err := c.Publish(t.Context(), client.Request{Target: target, Kind: "glob", Fun: "test.ping", Timeout: 10 * time.Second})
	if err != nil {
		t.Errorf("publish: %v", err)
		return nil
	}
	back := map[string]bool{}
	for r, err := range c.Results(t.Context(), job, client.Wait{Timeout: 10 * time.Second, Gather: 5 * time.Second}) {
		if err != nil {
			t.Errorf("job %s: %v", job.ID, err)
			return nil
		}
		if !r.Missing && r.Value == true {
			back[r.ID] = true
		}
	}
	return back
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// TestMasterKeyIsReplacedWhileJobsGoOn gives a master that runs two new keys, one after the other: two minions answer every job
// meanwhile, a third one that was away follows when it comes back, and one without a chain refuses the master.
func TestMasterKeyIsReplacedWhileJobsGoOn(t *testing.T) {
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m")))
	minions := map[string]*testsalt.Minion{}
	starts := m.Listen(t, "salt/minion/")
	start := func(id string) {
		minions[id] = testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(dir, id), id, m.Address))
		testsalt.AwaitEvent(t, starts, "salt/minion/"+id+"/start")
	}
	for _, id := range []string{"web1", "web2", "away"} {
		start(id)
	}
	if err := minions["away"].Stop(); err != nil {
		t.Fatal(err)
	}
	first := text(t, filepath.Join(m.Config.PKIDir, "master.pub"))
	stop, done := make(chan struct{}), make(chan struct{})
	var jobs atomic.Int64
	c := m.Client(t)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if back := pingAll(t, c, "web*"); len(back) != 2 {
				t.Errorf("job %d: only %v answered", jobs.Load(), back)
			}
			jobs.Add(1)
		}
	}()
	events := m.Listen(t, "key")
	ring := keyring.New(keyring.Options{Tree: pki.Visit(m.Config.PKIDir, pki.Options{})})
	for i := range 2 {
		before := jobs.Load()
		if _, err := ring.RotateMaster(m.Config.Map(), 0, time.Now().Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		body, err := testsalt.AwaitEvent(t, events, "key").Map()
		if err != nil || body.Value("rotate_master_key") != true {
			t.Errorf("event %v, %v", body, err)
		}
		for jobs.Load() < before+5 {
			time.Sleep(10 * time.Millisecond) // jobs under the new key
		}
	}
	close(stop)
	<-done
	start("away")
	if back := pingAll(t, c, "*"); len(back) != 3 {
		t.Errorf("in the end %v answer", back)
	}
	now := text(t, filepath.Join(m.Config.PKIDir, "master.pub"))
	if now == first {
		t.Fatal("the master has the key of before")
	}
	for id := range minions {
		if got := text(t, filepath.Join(dir, id, "pki", "minion_master.pub")); got != now {
			t.Errorf("%s trusts another key than the master's", id)
		}
		kept, _ := filepath.Glob(filepath.Join(dir, id, "pki", "minion_master.pub.*"))
		if want := map[string]int{"away": 1}[id]; len(kept) != max(want, 1) && id == "away" || len(kept) == 0 || text(t, kept[0]) != first {
			t.Errorf("%s keeps %v", id, kept)
		}
	}
	m.Stop(t) // the same after a start
	cfg := *m.Config
	m = testsalt.StartMaster(t, &cfg)
	for _, mn := range minions {
		_ = mn.Stop()
	}
	starts = m.Listen(t, "salt/minion/")
	start("web1")
}

// TestMasterKeyThatNobodyHandedOverTo lays another key into the place of the master's: it keeps its own until the next start, and
// minions refuse it then, as with Salt.
func TestMasterKeyThatNobodyHandedOverTo(t *testing.T) {
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m")))
	starts := m.Listen(t, "salt/minion/")
	cfg := testsalt.MinionConfig(filepath.Join(dir, "web1"), "web1", m.Address)
	minion := testsalt.StartMinion(t, cfg)
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	for _, half := range []string{"master.pem", "master.pub"} {
		if err := os.Remove(filepath.Join(m.Config.PKIDir, half)); err != nil {
			t.Fatal(err)
		}
	}
	if err := keyring.MakePair(filepath.Join(m.Config.PKIDir, "master"), 2048, ""); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // the master looks each second
	if back := pingAll(t, m.Client(t), "web1"); !back["web1"] {
		t.Error("the minion does not answer under the key that the master has")
	}
	if err := minion.Stop(); err != nil {
		t.Fatal(err)
	}
	m.Stop(t)
	again := *m.Config
	m = testsalt.StartMaster(t, &again)
	auth := m.Listen(t, "salt/auth")
	minion = testsalt.StartMinion(t, cfg)
	for range 2 { // it comes again and again, and is not content
		testsalt.AwaitEvent(t, auth, "salt/auth")
	}
	if err := minion.Stop(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	if text(t, filepath.Join(dir, "web1", "pki", "minion_master.pub")) == text(t, filepath.Join(m.Config.PKIDir, "master.pub")) {
		t.Error("the minion took a key that nobody handed over to")
	}
}

// TestPassphrases starts masters with keys that have passphrases: a wrong one or none is told with the option and the file.
func TestPassphrases(t *testing.T) {
	dir := testsalt.Dir(t)
	keys := `key_pass: "secret one"`
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), keys, "master_sign_pubkey: true", "signing_key_pass: other"))
	m.Stop(t)
	for file, header := range map[string]string{"master.pem": "ENCRYPTED", "master_sign.pem": "ENCRYPTED"} {
		if got := text(t, filepath.Join(m.Config.PKIDir, file)); !strings.Contains(got, header) {
			t.Errorf("%s is not encrypted", file)
		}
	}
	for _, tt := range []struct{ key, sign, want string }{
		{"secret one", "wrong", "signing_key_pass"}, {"secret one", "", "signing_key_pass"},
		{"wrong", "other", "key_pass"}, {"", "other", "key_pass"}, {"sdb://x/y", "other", "key_pass"},
	} {
		cfg := *m.Config
		cfg.KeyPass, cfg.SigningKeyPass = tt.key, tt.sign
		err := testsalt.TryMaster(t, &cfg)
		file := map[string]string{"key_pass": "master.pem", "signing_key_pass": "master_sign.pem"}[tt.want]
		if err == nil || !strings.Contains(err.Error(), tt.want+":") || !strings.Contains(err.Error(), file) && !strings.HasPrefix(tt.key, "sdb:") {
			t.Errorf("%v: %v, want an error that names %s and %s", tt, err, tt.want, file)
		}
		if err != nil && strings.Contains(err.Error(), "secret one") {
			t.Errorf("the passphrase is told: %v", err)
		}
	}
	cfg := *m.Config
	testsalt.StartMaster(t, &cfg)
}
