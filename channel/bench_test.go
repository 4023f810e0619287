package channel

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// settle makes the key files old enough for the cache of parsed keys, as those of a running master
// are.
func (r *rig) settle(b *testing.B) {
	b.Helper()
	old := time.Now().Add(-time.Hour)
	for _, id := range []string{"web1", "web2"} {
		must(b, os.Chtimes(filepath.Join(r.pki.Path(), "minions", id), old, old))
	}
	time.Sleep(2100 * time.Millisecond) // the time of the inode cannot be set
	quiet(r)
}

func quiet(r *rig) {
	log := logrus.New()
	log.SetLevel(logrus.PanicLevel)
	r.server.opts.Log, r.signIn.opts.Log = log, log
	r.signIn.opts.OnEvent = nil
}

// bareWork is the RSA work that no master can save in a sign-in: the token decrypted, the reply
// signed, three secrets encrypted.
func bareWork(b *testing.B, r *rig, token []byte) time.Duration {
	b.Helper()
	const rounds = 50
	start := time.Now()
	for range rounds {
		_, err := r.ring["master"].Decrypt(token, crypto.OAEPSHA1)
		must(b, err)
		_, err = r.ring["master"].Sign(token, crypto.SHA1Sign)
		must(b, err)
		for range 3 {
			_, err = r.ring["minion"].Public().Encrypt([]byte(crypto.NewKeyString()), crypto.OAEPSHA1)
			must(b, err)
		}
	}
	return time.Since(start) / rounds
}

// BenchmarkSignIn is the master's whole work for a sign-in of version 3 with a token; rsa-ratio is
// how many times its bare RSA work that is.
func BenchmarkSignIn(b *testing.B) {
	f := newForger(b, ServerOptions{Admission: Admission{MinimumVersion: 3}})
	f.settle(b)
	token, err := f.ring["master"].Public().Encrypt([]byte(crypto.NewKeyString()), crypto.OAEPSHA1)
	must(b, err)
	load := data.NewMap("cmd", "_auth", "id", "web1", "nonce", f.nonce(), "token", token,
		"pub", f.ring.pub("minion"), "enc_algo", crypto.OAEPSHA1, "sig_algo", crypto.SHA1Sign)
	body := marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	f.ask(body)
	before := bareWork(b, f.rig, token)
	b.ReportAllocs()
	for b.Loop() {
		f.server.Handle(context.Background(), &fakeRequest{body: body})
	}
	b.StopTimer()
	bare := (before + bareWork(b, f.rig, token)) / 2
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(bare), "rsa-ratio")
}

// BenchmarkRequest is a _return of version 3 without what the handler does: opened, proved,
// answered.
func BenchmarkRequest(b *testing.B) {
	f := newForger(b, ServerOptions{Admission: Admission{MinimumVersion: 3}})
	f.settle(b)
	f.handler = nil
	f.server.handler = nothing{}
	load := data.NewMap("cmd", "_return", "id", "web1", "success", true, "return",
		"a line of output", "retcode", int64(0), "jid", "20261121074539197176",
		"fun", "cmd.run", "fun_args", []any{"uptime"}, "user", "root", "tok", f.victimToken)
	body := f.envelope(3, "web1", f.key(3, "web1"), load)
	b.ReportAllocs()
	for b.Loop() {
		f.server.Handle(context.Background(), &fakeRequest{body: body})
	}
}

// nothing is a handler that costs nothing.
type nothing struct{}

func (nothing) Clear(context.Context, *Command) (any, error)     { return nil, nil }
func (nothing) Encrypted(context.Context, *Command) (any, error) { return nil, nil }
func (nothing) NeedsProof(string) bool                           { return false }
func (nothing) Effect(string) bool                               { return true }

func BenchmarkPublish(b *testing.B) {
	for name, sign := range map[string]bool{"signed": true, "unsigned": false} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, rigOptions{})
			p := NewPublisher(r.ring["master"], r.secrets, discard{}, PublisherOptions{Sign: sign})
			pub := &job.Publication{JID: "20261121074539197176", Fun: []string{"test.ping"},
				Target: "*", TargetType: "glob", User: "root"}
			b.ReportAllocs()
			for b.Loop() {
				must(b, p.Publish(pub, nil, 0))
			}
		})
	}
}

// discard is a publish port without subscribers.
type discard struct{ *outbox }

func (discard) Publish(transport.Message) {}

// BenchmarkFullLine fills the line of sign-ins. bytes/place is what one that waits takes, with the
// stack of its goroutine.
func BenchmarkFullLine(b *testing.B) {
	for b.Loop() {
		r := newRig(b, rigOptions{})
		turn, err := r.signIn.line.join(netip.Addr{}, 1)
		must(b, err)
		<-turn.ready
		load := data.NewMap("cmd", "_auth", "id", "web1", "nonce", "0123", "pub", r.ring.pub("minion"))
		body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(2), "load", load))
		must(b, err)
		ctx, end := context.WithCancel(b.Context())
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var waiting sync.WaitGroup
		for range lineLength {
			waiting.Go(func() { r.server.Handle(ctx, &fakeRequest{body: bytes.Clone(body)}) })
		}
		for full := false; !full; runtime.Gosched() {
			r.signIn.line.mu.Lock()
			full = r.signIn.line.length == lineLength
			r.signIn.line.mu.Unlock()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/lineLength, "bytes/place")
		end()
		waiting.Wait()
	}
}
