package testsalt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// pingAll submits a job to minions, and returns those that answer.
func pingAll(t *testing.T, c *client.Local, target string) map[string]bool {
	t.Helper()
	job, err := c.Publish(t.Context(),
		client.Request{Target: target, Kind: "glob", Fun: "test.ping", Timeout: 10 * time.Second})
	if err != nil {
		t.Errorf("publish: %v", err)
		return nil
	}
	back := map[string]bool{}
	for r, err := range c.Results(t.Context(), job,
		client.Wait{Timeout: 10 * time.Second, Gather: 5 * time.Second}) {
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

// succeeding is a master whose key is replaced, and its minions.
type succeeding struct {
	*testsalt.Master
	dir     string
	minions map[string]*testsalt.Minion
}

// start starts minions and waits for each.
func (s *succeeding) start(t *testing.T, ids ...string) {
	t.Helper()
	starts := s.Listen(t, "salt/minion/")
	for _, id := range ids {
		s.minions[id] = testsalt.StartMinion(t,
			testsalt.MinionConfig(filepath.Join(s.dir, id), id, s.Address))
		testsalt.AwaitEvent(t, starts, "salt/minion/"+id+"/start")
	}
}

// pinging submits jobs to minions one by one until stop is called. Each is answered by the expected
// number of minions.
func pinging(t *testing.T, c *client.Local, target string, want int) (jobs *atomic.Int64, stop func()) {
	jobs = &atomic.Int64{}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			default:
			}
			if back := pingAll(t, c, target); len(back) != want {
				t.Errorf("job %d: only %v answered", jobs.Load(), back)
			}
			jobs.Add(1)
		}
	}()
	return jobs, func() { close(end); <-done }
}

// rotate replaces the master's key while jobs are running. Each call uses another number of
// seconds.
func (s *succeeding) rotate(t *testing.T, seconds int, jobs *atomic.Int64) {
	t.Helper()
	events := s.Listen(t, "key")
	before := jobs.Load()
	ring := keyring.New(keyring.Options{Tree: pki.Visit(s.Config.PKIDir, pki.Options{})})
	if _, err := ring.RotateMaster(s.Config.Map(), 0,
		time.Now().Add(time.Duration(seconds)*time.Second)); err != nil {
		t.Fatal(err)
	}
	body, err := testsalt.AwaitEvent(t, events, "key").Map()
	if err != nil || body.Value("rotate_master_key") != true {
		t.Errorf("event %v, %v", body, err)
	}
	for jobs.Load() < before+5 {
		time.Sleep(10 * time.Millisecond)
	}
}

// trust checks that all minions trust the master's current key, and have stored the first.
func (s *succeeding) trust(t *testing.T, first string) {
	t.Helper()
	now := text(t, filepath.Join(s.Config.PKIDir, "master.pub"))
	if now == first {
		t.Fatal("the master has the key of before")
	}
	for id := range s.minions {
		if got := text(t, filepath.Join(s.dir, id, "pki", "minion_master.pub")); got != now {
			t.Errorf("%s trusts another key than the master's", id)
		}
		kept, _ := filepath.Glob(filepath.Join(s.dir, id, "pki", "minion_master.pub.*"))
		if len(kept) == 0 || id == "away" && len(kept) != 1 || text(t, kept[0]) != first {
			t.Errorf("%s keeps %v", id, kept)
		}
	}
}

// TestMasterKeyIsReplacedWhileJobsGoOn replaces the key of a running master twice: two minions
// answer every job meanwhile, and a third one that was offline follows when it comes back. They
// still know the master after a restart of all.
func TestMasterKeyIsReplacedWhileJobsGoOn(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	s := &succeeding{testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m"))), dir,
		map[string]*testsalt.Minion{}}
	s.start(t, "web1", "web2", "away")
	if err := s.minions["away"].Stop(); err != nil {
		t.Fatal(err)
	}
	first := text(t, filepath.Join(s.Config.PKIDir, "master.pub"))
	c := s.Client(t)
	jobs, stop := pinging(t, c, "web*", 2)
	for i := range 2 {
		s.rotate(t, i, jobs)
	}
	stop()
	s.start(t, "away")
	if back := pingAll(t, c, "*"); len(back) != 3 {
		t.Errorf("in the end %v answer", back)
	}
	s.trust(t, first)
	s.Stop(t)
	cfg := *s.Config
	s.Master = testsalt.StartMaster(t, &cfg)
	for _, m := range s.minions {
		_ = m.Stop()
	}
	s.start(t, "web1")
}

// warning waits for the warning that another key is in the directory.
type warning chan struct{}

func (w warning) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (w warning) Fire(e *logrus.Entry) error {
	if strings.HasPrefix(e.Message, "Another key was found in ") {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return nil
}

func (w warning) await(t *testing.T) {
	t.Helper()
	select {
	case <-w:
	case <-time.After(30 * time.Second):
		t.Fatal("the master does not tell of another key")
	}
}

// TestReplacedMasterKeyWithoutHandover replaces the master's key files: the master keeps its key
// until the next start, and minions refuse the new one then, as with Salt.
func TestReplacedMasterKeyWithoutHandover(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, testsalt.MasterConfig(filepath.Join(dir, "m")))
	starts := m.Listen(t, "salt/minion/")
	cfg := testsalt.MinionConfig(filepath.Join(dir, "web1"), "web1", m.Address)
	web1 := testsalt.StartMinion(t, cfg)
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	for _, half := range []string{"master.pem", "master.pub"} {
		if err := os.Remove(filepath.Join(m.Config.PKIDir, half)); err != nil {
			t.Fatal(err)
		}
	}
	told := make(warning, 1)
	m.Log.AddHook(told)
	if err := keyring.MakePair(filepath.Join(m.Config.PKIDir, "master"), 2048, ""); err != nil {
		t.Fatal(err)
	}
	told.await(t)
	if back := pingAll(t, m.Client(t), "web1"); !back["web1"] {
		t.Error("the minion does not answer under the key that the master has")
	}
	if err := web1.Stop(); err != nil {
		t.Fatal(err)
	}
	m.Stop(t)
	again := *m.Config
	m = testsalt.StartMaster(t, &again)
	auth := m.Listen(t, "salt/auth")
	web1 = testsalt.StartMinion(t, cfg)
	for range 2 { // it comes again and again, and is not content
		testsalt.AwaitEvent(t, auth, "salt/auth")
	}
	if err := web1.Stop(); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	if text(t, filepath.Join(dir, "web1", "pki", "minion_master.pub")) == text(t,
		filepath.Join(m.Config.PKIDir, "master.pub")) {
		t.Error("the minion took a key that nobody handed over to")
	}
	c, err := minion.NewCaller(t.Context(), cfg, cfg.Map(), testsalt.MinionOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stored := filepath.Join(dir, "web1", "pki", "minion_master.pub")
	if err := c.Join(t.Context()); err == nil || !strings.Contains(err.Error(), "The stored key is "+stored) {
		t.Errorf("a call with the key of another master: %v; want %s named", err, stored)
	}
}

// TestPassphrases starts masters with keys that have passphrases: a wrong or missing one is
// reported with the option and the file.
func TestPassphrases(t *testing.T) {
	dir := testsalt.Dir(t)
	keys := `key_pass: "secret one"`
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m"), keys,
		"master_sign_pubkey: true", "signing_key_pass: other"))
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
		if err == nil || !strings.Contains(err.Error(), tt.want+":") ||
			!strings.Contains(err.Error(), file) && !strings.HasPrefix(tt.key, "sdb:") {
			t.Errorf("%v: %v, want an error that names %s and %s", tt, err, tt.want, file)
		}
		if err != nil && strings.Contains(err.Error(), "secret one") {
			t.Errorf("the passphrase is told: %v", err)
		}
	}
	cfg := *m.Config
	testsalt.StartMaster(t, &cfg)
}
