package master_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cli/saltmaster"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/returners/opener"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// childDir is set in the environment of a test binary that is to be a master in that directory.
const childDir = "BRINE_TEST_MASTER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := beMaster(dir, os.Getenv(childDir+"_PORT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beMaster runs a master until it is killed, and prints its address when it listens.
func beMaster(dir, port string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := testsalt.MasterConfig(dir)
	cfg.RetPort, _ = strconv.Atoi(port)
	log := logrus.New()
	ports, err := saltmaster.Ports(cfg)
	if err != nil {
		return err
	}
	m, err := master.New(ctx, cfg, master.Options{Ports: ports, Jobs: opener.JobCache(cfg, log), Log: log})
	if err != nil {
		return err
	}
	address, _ := m.Addrs()
	fmt.Println(address)
	return m.Run(ctx, func() {})
}

// child starts a master in a process of its own and returns its address.
func child(t *testing.T, dir, port string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childDir+"_PORT="+port)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the master does not start: %v", err)
	}
	return cmd, line[:len(line)-1]
}

// masterKey keeps the key of the first contact.
type masterKey struct {
	mu  sync.Mutex
	pem string
}

func (k *masterKey) Master() (string, error) { k.mu.Lock(); defer k.mu.Unlock(); return k.pem, nil }
func (k *masterKey) SetMaster(_, pem string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pem = pem
	return nil
}
func (k *masterKey) Signing() ([]string, error) { return nil, os.ErrNotExist }

// minionAt returns a minion's side of the request port.
func minionAt(t *testing.T, id, address string) *channel.Client {
	t.Helper()
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	out := zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + address,
		BackoffMin: 10 * time.Millisecond, BackoffMax: 50 * time.Millisecond})
	t.Cleanup(func() { out.Close() })
	c, err := channel.NewClient(key, &masterKey{}, out,
		channel.ClientOptions{ID: id, Timeout: 2 * time.Second, Tries: 1,
			AuthTimeout: 5 * time.Second, AuthTries: 3, Log: testsalt.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKilledMasterKeepsWhatItAcknowledged kills a master while returns arrive: after the restart,
// which needs no help, each return that was acknowledged is in the job cache.
func TestKilledMasterKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	cmd, address := child(t, dir, "0")
	_, port, _ := net.SplitHostPort(address)
	c := minionAt(t, "web1", address)
	ids := job.NewIDs(time.Now)
	acknowledged := map[job.ID]string{}
	for round := range 3 {
		var mu sync.Mutex
		var senders sync.WaitGroup
		killAt := len(acknowledged) + 60
		killed := make(chan struct{})
		var once sync.Once
		for range 8 {
			senders.Go(func() {
				for {
					select {
					case <-killed:
						return
					default:
					}
					id := ids.Next()
					value := "value of " + string(id)
					load := data.NewMap("cmd", "_return", "id", "web1", "jid", string(id), "fun",
						"test.echo", "fun_args", []any{}, "return", value, "retcode", int64(0),
						"success", true)
					reply, err := c.Call(t.Context(), load)
					mu.Lock()
					if err == nil && reply == nil {
						acknowledged[id] = value
					}
					if len(acknowledged) >= killAt {
						once.Do(func() { cmd.Process.Kill(); close(killed) })
					}
					mu.Unlock()
				}
			})
		}
		senders.Wait()
		cmd.Wait()
		if len(acknowledged) < killAt {
			t.Fatalf("round %d: %d returns acknowledged", round, len(acknowledged))
		}
		cmd, _ = child(t, dir, port)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the master ends with %v", err)
	}
	checkKept(t, filepath.Join(dir, "cache", "jobs.db"), acknowledged)
}

func checkKept(t *testing.T, file string, acknowledged map[job.ID]string) {
	t.Helper()
	store, err := jobstore.Open(t.Context(), file, jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for id, value := range acknowledged {
		got, err := store.Returns(t.Context(), id)
		if err != nil || len(got) != 1 {
			t.Errorf("job %s has %d returns, %v", id, len(got), err)
			continue
		}
		load, err := payload.ParseFields(got[0].Load, payload.WireLimits())
		if text, _ := load.Text("return"); err != nil || text != value {
			t.Errorf("job %s returned %q, %v", id, text, err)
		}
	}
}

// TestCVE2023_20897 sends every malformed request that there is, three times for each worker:
// afterwards 100 of 100 pings are answered.
func TestCVE2023_20897(t *testing.T) {
	t.Parallel()
	m := testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t)))
	corpus := [][]byte{{}, {0xc1}, {0xc0}, {0x80}, {0x90}, []byte("hello"),
		{0xdf, 0xff, 0xff, 0xff, 0xff}, {0xdd, 0xff, 0xff, 0xff, 0xff}, make([]byte, 1<<16)}
	for _, c := range vectors.Load(t, "04-auth.json").Section("malformed") {
		for _, step := range c.On(t).Sub("steps") {
			corpus = append(corpus, step.On(t).Bytes("request_frame"))
		}
	}
	for _, enc := range []any{"clear", "aes", "pub", nil, int64(1), []any{}} {
		for _, load := range []any{nil, "", []any{}, int64(7), data.NewMap(),
			data.NewMap("cmd", nil), data.NewMap("cmd", []any{}), data.NewMap("cmd", "publish"),
			data.NewMap("cmd", "_auth")} {
			if b, err := payload.Marshal(data.NewMap("enc", enc, "load", load, "version", int64(3),
				"id", "web1")); err == nil {
				corpus = append(corpus, b)
			}
		}
	}
	t.Logf("%d requests", len(corpus))
	const workers = 32 // of a master on two cores
	var senders sync.WaitGroup
	for range workers {
		senders.Go(func() {
			out := zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + m.Address})
			defer out.Close()
			for range 3 {
				for _, body := range corpus {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, err := out.Do(ctx, body)
					if ctx.Err() != nil {
						t.Errorf("%d bytes %.40x: neither reply nor end: %v", len(body), body, err)
					}
					cancel()
				}
			}
		})
	}
	senders.Wait()
	for range 100 {
		ping(t, m.Address)
	}
}

// ping expects a clear ping to be answered.
func ping(t *testing.T, address string) {
	t.Helper()
	out := zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + address})
	defer out.Close()
	body, _ := payload.Marshal(data.NewMap("enc", "clear",
		"load", data.NewMap("cmd", "ping", "x", "y"), "version", int64(3)))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	reply, err := out.Do(ctx, body)
	if err != nil {
		t.Fatalf("ping: %v", err)
	}
	if v, err := payload.Unmarshal(reply, payload.WireLimits()); err != nil ||
		!data.Equal(v, data.NewMap("cmd", "ping", "x", "y")) {
		t.Fatalf("ping: reply %s, %v", data.Repr(v), err)
	}
}

// TestStalledListener puts a reader that takes nothing beside a job: the job has its answers, and a
// reader that takes what comes has all events.
func TestStalledListener(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, testsalt.MasterConfig(dir))
	stalled, err := net.Dial("unix", filepath.Join(m.Config.SockDir, "master_event_pub.ipc"))
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	bus := m.Listen(t, "salt/minion/", "test/")
	testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(dir, "m"), "web1", m.Address))
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	const events = 3000
	text := string(make([]byte, 2000))
	go func() {
		for i := range events {
			if err := bus.Fire(t.Context(), "test/"+strconv.Itoa(i), data.NewMap("text", text)); err != nil {
				t.Error(err)
			}
		}
	}()
	answers(t, m)
	for i := range events {
		if e, err := bus.Next(t.Context()); err != nil || e.Tag != "test/"+strconv.Itoa(i) {
			t.Fatalf("event %d is %q, %v", i, e.Tag, err)
		}
	}
	answers(t, m)
}

// answers expects web1 to answer a ping.
func answers(t *testing.T, m *testsalt.Master) {
	t.Helper()
	l := m.Client(t)
	j, err := l.Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: "test.ping"})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for r, err := range l.Results(t.Context(), j,
		client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
		if err != nil || r.Value != true {
			t.Fatalf("%s answers %v, %v", r.ID, r.Value, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d answers", found)
	}
}

// TestRestartBetweenTwoJobs starts the master anew between two jobs: the minion comes back by
// itself.
func TestRestartBetweenTwoJobs(t *testing.T) {
	t.Parallel()
	dir := testsalt.Dir(t)
	cfg := testsalt.MasterConfig(dir)
	m := testsalt.StartMaster(t, cfg)
	bus := m.Listen(t, "salt/minion/")
	testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(dir, "m"), "web1", m.Address))
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	answers(t, m)
	m.Stop(t)
	again := testsalt.StartMaster(t, cfg) // on the same ports
	c := again.Client(t)
	for end := time.Now().Add(30 * time.Second); ; { // until the minion listens again, which nothing tells
		j, err := c.Publish(t.Context(), client.Request{Target: "web1", Kind: "glob", Fun: "test.ping"})
		if err != nil {
			t.Fatal(err)
		}
		for r := range c.Results(t.Context(), j, client.Wait{Timeout: time.Second, Gather: time.Second}) {
			if r.Value == true {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("the minion does not come back")
		}
	}
}
