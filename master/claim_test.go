package master

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// manyValues is a list of 999,000 small numbers in 999,005 bytes.
func manyValues() data.Raw {
	b := append([]byte{0xdd, 0, 0x0f, 0x3e, 0x58}, make([]byte, 999_000)...)
	return data.Raw(b)
}

// liveHeap returns how many bytes are in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStrangersHoldLittleMemory sends 200 logins of 1 MB with 1,000,000 values to a system that
// does not answer, and measures what they hold while they wait.
func TestStrangersHoldLittleMemory(t *testing.T) {
	b := aclBench(t, nil)
	system := hung{make(chan struct{})}
	o := b.parts.access(b.cfg)
	o.System = func(string) (auth.System, error) { return system, nil }
	must(t, b.parts.gate.SetOptions(o))
	// without heartbeats, which a machine under load answers late
	limits := transport.Limits{PingEvery: -1}
	replier, err := zeromq.ListenReply(t.Context(), "tcp://127.0.0.1:0",
		transport.Options{Limits: limits, Log: silent(t)})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- replier.Serve(ctx, b.server.Handle) }()
	load := b.with("*", "test.ping", loginAs("fred", "x"))
	load.Set("arg", manyValues())
	body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	must(t, err)
	const requests, most = 200, 64 << 20
	before := liveHeap()
	answers := make(chan error, requests)
	for range requests {
		q := zeromq.NewRequester(transport.Dialer{Limits: limits, Addr: "tcp://" + replier.Addr().String()})
		defer q.Close()
		go func() {
			_, err := q.Do(ctx, body)
			answers <- err
		}()
	}
	end := time.After(5 * time.Minute)
	for refused := range requests - hereLogins {
		select {
		case err := <-answers:
			must(t, err)
		case <-end:
			t.Fatalf("%d of %d requests are refused, and the others hold %d MiB", refused, requests,
				(liveHeap()-before)>>20)
		}
	}
	grown := liveHeap() - before
	t.Logf("%d requests of %d bytes hold %d KiB", requests, len(body), grown>>10)
	if grown > most {
		t.Errorf("%d requests hold %d MiB", requests, grown>>20)
	}
	close(system.free)
	stop()
	must(t, <-served)
}

// hereLogins is how many logins of 1 MB may wait of those who come from this host.
const hereLogins = 12

// TestOnlyCredentialsAreDecodedOfStrangers counts what refused requests of each kind allocate: not
// more than their bytes twice, which is what the reply to a ping takes.
func TestOnlyCredentialsAreDecodedOfStrangers(t *testing.T) {
	b := aclBench(t, nil)
	for _, cmd := range []string{"publish", "publish_batch", "stop_batch", "runner", "wheel",
		"mk_token", "get_token", "job_returns", "batch_state", "ping", "nosuch"} {
		for _, field := range []string{"arg", "fun", "user", "key", "token", "eauth", "kwarg",
			"token_expire", "id", "jid"} {
			load := data.NewMap("cmd", cmd, "tgt", "*", "fun", "test.ping", "arg", []any{},
				"tgt_type", "glob", "ret", "", "jid", "", "user", "root", "key", "x")
			load.Set(field, manyValues())
			body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
			must(t, err)
			if took := allocatedBy(func() { b.server.Handle(t.Context(), &request{body: body}) }); took > 2*int64(len(body))+64<<10 {
				t.Errorf("%s with many values as %s: %d KiB for a request of %d KiB", cmd, field,
					took>>10, len(body)>>10)
			}
		}
	}
	many := data.NewMap("cmd", "publish")
	for i := range 100_000 {
		many.Set(int64(i), true)
	}
	for name, message := range map[string]any{
		"a load of many fields": data.NewMap("enc", "clear", "load", fieldsNamed(100_000),
			"version", int64(3)),
		"an envelope of many fields": fieldsNamed(100_000),
		"options of many fields": data.NewMap("enc", "clear", "load",
			data.NewMap("cmd", "publish", "kwargs", fieldsNamed(100_000)), "version", int64(3)),
		"options that are no fields": data.NewMap("enc", "clear",
			"load", data.NewMap("cmd", "publish", "kwargs", many), "version", int64(3)),
	} {
		body, err := payload.Marshal(message)
		must(t, err)
		if took := allocatedBy(func() { b.server.Handle(t.Context(), &request{body: body}) }); took > 2*int64(len(body))+64<<10 {
			t.Errorf("%s: %d KiB for a request of %d KiB", name, took>>10, len(body)>>10)
		}
	}
}

// fieldsNamed is a map with so many names.
func fieldsNamed(n int) *data.Map {
	m := data.NewMap("enc", "clear", "cmd", "publish")
	for i := range n {
		m.Set("name"+string(rune('a'+i%26))+data.Str(int64(i)), true)
	}
	return m
}

// allocatedBy returns how many bytes f allocates.
func allocatedBy(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
