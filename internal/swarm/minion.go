package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/transport"
)

// minion is one simulated minion.
type minion struct {
	swarm  *Swarm
	id     string
	key    *crypto.PrivateKey
	out    transport.Requester
	client *channel.Client
}

// memoryKeys stores the master's key of the first contact in memory.
type memoryKeys struct {
	mu  sync.Mutex
	pem string
}

func (k *memoryKeys) Master() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pem, nil
}

func (k *memoryKeys) SetMaster(pem string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pem = pem
	return nil
}

func (k *memoryKeys) Signing() (string, error) {
	return "", errors.New("a simulated minion has no signing key")
}

// grains returns the grains of a simulated minion.
func (m *minion) grains() *data.Map {
	return data.NewMap("id", m.id, "os", "Swarm", "os_family", "Swarm", "kernel", "Linux",
		"host", m.id, "nodename", m.id, "ipv4", []any{"127.0.0.1"}, "ipv6", []any{})
}

func (m *minion) run(ctx context.Context, joining *semaphore.Weighted) error {
	m.out = m.swarm.requester()
	defer m.out.Close()
	var err error
	o := channel.ClientOptions{ID: m.id, Timeout: time.Minute, Tries: 3,
		AuthTimeout: 5 * time.Second, AuthTries: 7, Log: m.swarm.opts.Log}
	if like := m.swarm.opts.Like; like != Ours { // the requester tries again
		o.AuthTimeout, o.AuthTries, o.Newest = 0, 1, like.newest()
	}
	m.client, err = channel.NewClient(m.key, &memoryKeys{}, m.out, o)
	if err != nil {
		return err
	}
	if err := m.signIn(ctx, joining); err != nil {
		return err
	}
	return m.listen(ctx)
}

// signIn signs in to the master, however long that takes.
func (m *minion) signIn(ctx context.Context, joining *semaphore.Weighted) error {
	for {
		if err := joining.Acquire(ctx, 1); err != nil {
			return err
		}
		_, err := m.client.SignIn(ctx)
		if err == nil {
			_, err = m.client.Pillar(ctx, data.NewMap("id", m.id, "grains", m.grains(),
				"saltenv", nil, "pillarenv", nil, "pillar_override", data.NewMap(),
				"extra_minion_data", data.NewMap(), "ver", "2", "cmd", "_pillar"))
		}
		joining.Release(1)
		switch {
		case err == nil:
			m.swarm.Stats.SignedIn.Add(1)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, channel.ErrRejected):
			return fmt.Errorf("%s: %w", m.id, err)
		}
		m.swarm.opts.Log.WithError(err).Warn(m.id)
		wait := time.Second + rand.N(time.Second)
		if m.swarm.opts.Like != Ours {
			wait = saltWait
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *minion) listen(ctx context.Context) error {
	dialer := m.swarm.dialer(m.client.Credentials().PublishPort)
	dialer.Identity = []byte(m.id)
	up := make(chan struct{})
	first := sync.OnceFunc(func() { close(up) })
	listening := false // also report a first connection that fails
	dialer.OnState = func(is bool, _ error) {
		if is != listening {
			m.swarm.listens(is)
		}
		if listening = is; is {
			first()
		}
	}
	dialer.Hello = m.hello()
	var topics []string
	if m.swarm.opts.Filter {
		topics = []string{channel.TopicBroadcast, channel.Topic(m.id)}
	}
	var start sync.WaitGroup
	defer start.Wait()
	start.Go(func() { m.start(ctx, up) })
	return m.swarm.opts.Ports.Subscribe(dialer, topics...).Run(ctx,
		func(_, body []byte) { m.take(ctx, body) })
}

// start announces the minion's start once it is connected to the publish port. When the master has
// replied, publications reach the minion, as far as it can know: over tcp nothing else shows it.
func (m *minion) start(ctx context.Context, up <-chan struct{}) {
	select {
	case <-up:
	case <-ctx.Done():
		return
	}
	_, err := m.client.Do(ctx, data.NewMap("id", m.id, "cmd", "_minion_event", "pretag", nil, "tag",
		"salt/minion/"+m.id+"/start", "data", "Minion "+m.id+" started at "+
			time.Now().Format(time.ANSIC)))
	if err != nil && ctx.Err() == nil {
		m.swarm.Stats.Failures.Add(1)
		m.swarm.opts.Log.WithError(err).Warn(m.id)
	}
	m.swarm.started()
}

// hello returns the minion's first message on the publish port of transport tcp. From the second
// connection on it signs in for it.
func (m *minion) hello() func(context.Context) ([]byte, error) {
	var again atomic.Bool
	return func(ctx context.Context) ([]byte, error) {
		if again.Swap(true) {
			m.client.Forget()
		}
		return m.client.Hello(ctx)
	}
}

// take handles one publication.
func (m *minion) take(ctx context.Context, body []byte) {
	pub, err := m.client.OpenPublication(ctx, body)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, channel.ErrStale) {
			m.swarm.Stats.Failures.Add(1)
			m.swarm.opts.Log.WithError(err).Warn(m.id)
		}
		return
	}
	if !m.isTargeted(pub) {
		return
	}
	m.swarm.Stats.Jobs.Add(1)
	go m.answer(ctx, pub)
}

func (m *minion) isTargeted(pub *job.Publication) bool {
	kind := pub.TargetType
	if kind == "" {
		kind = "glob"
	}
	if pub.Target == "*" && kind == "glob" {
		return true
	}
	target, err := match.Compile(pub.Target, kind, match.PublicationDelimiter(kind, pub.Delimiter),
		match.Options{})
	return err == nil && target.Match(&match.Minion{ID: m.id, Grains: m.grains(),
		Pillar: data.NewMap()})
}

// answer returns the results of a job's functions.
func (m *minion) answer(ctx context.Context, pub *job.Publication) {
	value := any(data.NewMap())
	if !pub.Multi {
		value = m.call(pub.Fun[0], pub.Arg)
	} else {
		for _, fun := range pub.Fun {
			value.(*data.Map).Set(fun, m.call(fun, nil))
		}
	}
	load := pub.Map()
	reply := data.NewMap("cmd", "_return", "id", m.id, "return", value, "retcode", int64(0),
		"success", true, "jid", string(pub.JID), "fun", load.Value("fun"), "fun_args",
		load.Value("arg"), "user", pub.User)
	if _, err := m.client.Do(ctx, reply); err != nil {
		if ctx.Err() == nil {
			m.swarm.Stats.Failures.Add(1)
			m.swarm.opts.Log.WithError(err).Warn(m.id)
		}
		return
	}
	m.swarm.Stats.Returned.Add(1)
}

// call implements the functions of a simulated minion.
func (m *minion) call(fun string, arg []any) any {
	switch fun {
	case "test.ping":
		return true
	case "test.echo":
		if len(arg) > 0 {
			return arg[0]
		}
		return ""
	case "grains.items":
		return m.grains()
	case "grains.item":
		chosen := data.NewMap()
		for _, name := range arg {
			if v, ok := m.grains().Get(name); ok {
				chosen.Set(name, v)
			}
		}
		return chosen
	case "saltutil.find_job":
		return data.NewMap()
	}
	return "'" + fun + "' is not available."
}

// event fires the i-th event of this minion's load.
func (m *minion) event(ctx context.Context, i int) error {
	_, err := m.client.Do(ctx, data.NewMap("id", m.id, "cmd", "_minion_event", "pretag", nil, "tag",
		"swarm/"+m.id, "data", data.NewMap("n", int64(i))))
	return err
}

// freeReturn sends the i-th return of this minion's load, for which the master creates a job.
func (m *minion) freeReturn(ctx context.Context, _ int) error {
	_, err := m.client.Do(ctx, data.NewMap("cmd", "_return", "id", m.id, "return", m.swarm.result(),
		"retcode", int64(0), "success", true, "jid", "req", "fun", "test.ping",
		"fun_args", []any{}))
	return err
}

// result returns the content of a return of the load.
func (s *Swarm) result() any {
	if s.opts.Size == 0 {
		return true
	}
	return strings.Repeat("x", s.opts.Size)
}

// fetch downloads a file as Salt's minion does: one piece after the other (salt/fileclient.py,
// RemoteClient.get_file).
func (m *minion) fetch(ctx context.Context, _ int) error {
	source := fileclient.Remote(m.client.Call, m.client.Do)
	for loc := int64(0); ; {
		piece, err := source.Read(ctx, "base", m.swarm.opts.Fetch, loc, 0)
		if err != nil || len(piece.Data) == 0 {
			return err
		}
		loc += int64(len(piece.Data))
		m.swarm.Stats.Fetched.Add(int64(len(piece.Data)))
	}
}

// ping sends a clear ping.
func (m *minion) ping(ctx context.Context, _ int) error {
	_, err := channel.Clear(ctx, m.out, data.NewMap("cmd", "ping"))
	return err
}
