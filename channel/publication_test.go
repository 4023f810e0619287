package channel

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// forged is a publication that a fellow minion makes: it knows the shared key.
func (p *pair) forged(serial any, signer string) []byte {
	load := data.NewMap("fun", "cmd.run", "arg", []any{"id"}, "tgt", "*", "jid",
		"20261121074539197177", "ret", "", "tgt_type", "glob")
	if serial != nil {
		load.Set("serial", serial)
	}
	blob := p.secrets.Shared().Seal(marshal(load), "")
	outer := data.NewMap("enc", "aes", "load", blob)
	if signer != "" {
		sig, err := p.ring[signer].Sign(blob, crypto.SHA1Sign)
		must(p.t, err)
		outer.Set("sig_algo", crypto.SHA1Sign)
		outer.Set("sig", sig)
	}
	return marshal(outer)
}

// TestCVE2016_1866: a publication that is not encrypted is dropped.
func TestCVE2016_1866(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1})
	load := data.NewMap("fun", "test.ping", "arg", []any{}, "tgt", "*", "jid",
		"20261121074539197177", "ret", "")
	sig, err := p.ring["master"].Sign(marshal(load), crypto.SHA1Sign)
	must(t, err)
	for name, m := range map[string]*data.Map{
		"clear":       data.NewMap("enc", "clear", "load", load),
		"clear bytes": data.NewMap("enc", "clear", "load", marshal(load)),
		"signed, not sealed": data.NewMap("enc", "clear", "load", marshal(load), "sig", sig,
			"sig_algo", crypto.SHA1Sign),
		"pub":      data.NewMap("enc", "pub", "load", load),
		"no enc":   data.NewMap("load", load),
		"enc null": data.NewMap("enc", nil, "load", load),
		"enc list": data.NewMap("enc", []any{"aes"}, "load", load),
	} {
		if pub, err := p.client.OpenPublication(t.Context(), marshal(m)); !errors.Is(err, ErrNotEncrypted) {
			t.Errorf("%s: %+v, %v", name, pub, err)
		}
	}
	if p.signIns.Load() != 0 {
		t.Error("clear publications made the minion sign in")
	}
}

// TestCVE2017_7893: what a fellow minion makes is not believed, and does not keep the master's from
// being.
func TestCVE2017_7893(t *testing.T) {
	for _, required := range []bool{true, false} {
		p := newPair(t, ClientOptions{Tries: 1, RequireSigned: required})
		must(t, p.call())
		if _, err := p.client.OpenPublication(t.Context(),
			p.forged(int64(1)<<60, "other")); !errors.Is(err, ErrBadReply) {
			t.Errorf("required %v, wrong signature: %v", required, err)
		}
		for _, sig := range []any{nil, "", []byte{1}, int64(1), []any{}} {
			m := asMap(t, decoded(t, p.forged(int64(1)<<60, "")))
			m.Set("sig", sig)
			if _, err := p.client.OpenPublication(t.Context(), marshal(m)); !errors.Is(err, ErrBadReply) {
				t.Errorf("required %v, signature %v: %v", required, sig, err)
			}
		}
		if required {
			if _, err := p.client.OpenPublication(t.Context(),
				p.forged(int64(1)<<60, "")); !errors.Is(err, ErrBadReply) {
				t.Errorf("no signature: %v", err)
			}
		}
		if _, err := p.client.OpenPublication(t.Context(), p.publish("20261121074539197178")); err != nil {
			t.Errorf("required %v: the master's publication after forged ones: %v", required, err)
		}
		if n := p.signIns.Load(); n != 1 {
			t.Errorf("required %v: forged publications made %d sign-ins", required, n-1)
		}
	}
}

// TestCVE2022_22936: a publication runs once, also when the minion has signed in again meanwhile.
func TestCVE2022_22936(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1, RequireSigned: true})
	first, second := p.publish("20261121074539197176"), p.publish("20261121074539197177")
	if _, err := p.client.OpenPublication(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"the same": second, "an older one": first,
		"serial 0": p.forged(int64(0), "master"), "serial -1": p.forged(int64(-1), "master"),
		"serial text": p.forged("9", "master"), "serial null": asNullSerial(p)} {
		if _, err := p.client.OpenPublication(t.Context(), body); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v, want ErrStale", name, err)
		}
	}
	_, err := p.client.SignIn(t.Context())
	must(t, err)
	if _, err := p.client.OpenPublication(t.Context(), second); !errors.Is(err, ErrStale) {
		t.Errorf("after a new sign-in with the same key: %v, want ErrStale", err)
	}
	must(t, p.secrets.Rotate())
	if _, err := p.client.OpenPublication(t.Context(), p.publish("20261121074539197178")); err != nil {
		t.Errorf("the first under a new key: %v", err)
	}
	if _, err := p.client.OpenPublication(t.Context(), second); err == nil {
		t.Error("one of the old key is taken")
	}
}

func asNullSerial(p *pair) []byte {
	load := data.NewMap("fun", "x", "arg", []any{}, "tgt", "*", "jid", "1", "serial", nil)
	blob := p.secrets.Shared().Seal(marshal(load), "")
	sig, err := p.ring["master"].Sign(blob, crypto.SHA1Sign)
	must(p.t, err)
	return marshal(data.NewMap("enc", "aes", "load", blob, "sig_algo", crypto.SHA1Sign, "sig", sig))
}

// Garbage makes the minion sign in at once, and then no more than four times in 20 seconds; new
// keys of the master are found, also when there are several in a row.
func TestGarbageCausesNoStormOfSignIns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ClientOptions{Tries: 1, RequireSigned: true})
		must(t, p.call())
		garbage := marshal(data.NewMap("enc", "aes", "load", make([]byte, 112)))
		flood := func(want int32) {
			t.Helper()
			before := p.signIns.Load()
			for range 200 {
				if _, err := p.client.OpenPublication(t.Context(), garbage); !errors.Is(err,
					crypto.ErrAuthentication) {
					t.Fatal(err)
				}
			}
			if n := p.signIns.Load() - before; n != want {
				t.Errorf("200 publications of garbage made %d sign-ins, want %d", n, want)
			}
		}
		flood(renewTimes)
		time.Sleep(renewWithin - time.Millisecond)
		flood(0)
		time.Sleep(time.Millisecond)
		flood(renewTimes)
		if _, err := p.client.OpenPublication(t.Context(), p.publish("20261121074539197176")); err != nil {
			t.Errorf("a good publication beside garbage: %v", err)
		}
		time.Sleep(renewWithin)
		for range renewTimes {
			must(t, p.secrets.Rotate())
			if _, err := p.client.OpenPublication(t.Context(),
				p.publish("20261121074539197177")); err != nil {
				t.Errorf("the first publication of a new key: %v", err)
			}
		}
	})
}

func TestMalformedPublications(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1})
	must(t, p.call())
	seal := func(plain []byte) []byte {
		return marshal(data.NewMap("enc", "aes", "load", p.secrets.Shared().Seal(plain, "")))
	}
	for name, body := range map[string][]byte{
		"no bytes": nil, "garbage": {0xc1}, "text": marshal("x"),
		"list inside": seal(marshal([]any{})), "garbage inside": seal([]byte{0xc1}),
		"nothing inside": seal(nil), "no fields": seal(marshal(data.NewMap())),
		"no object":     marshal(data.NewMap("enc", "aes", "load", p.secrets.Shared().Encrypt([]byte("x")))),
		"load is a map": marshal(data.NewMap("enc", "aes", "load", data.NewMap())),
	} {
		if pub, err := p.client.OpenPublication(t.Context(), body); err == nil {
			t.Errorf("%s is read as %+v", name, pub)
		}
	}
}

func TestTopics(t *testing.T) {
	p := newPair(t, ClientOptions{})
	for _, tt := range []struct {
		o    PublisherOptions
		ids  []string
		want []string
	}{
		{PublisherOptions{}, []string{"web1"}, nil},
		{PublisherOptions{Syndics: true}, nil, nil},
		{PublisherOptions{Filter: true}, nil, []string{"broadcast"}},
		{PublisherOptions{Filter: true, Syndics: true}, nil, []string{"broadcast"}},
		{PublisherOptions{Filter: true}, []string{"web1"},
			[]string{"977588a87e10582032716712ccf5d85d18a5fccf"}},
		{PublisherOptions{Filter: true}, []string{}, []string{}},
		{PublisherOptions{Filter: true, Syndics: true}, []string{}, []string{"syndic"}},
	} {
		must(t, NewPublisher(p.ring["master"], p.secrets, p.box,
			tt.o).Publish(&job.Publication{JID: "1", Fun: []string{"x"}, Target: "*"}, tt.ids, 0))
		if got := p.box.take()[0].Topics; !data.Equal(anys(got), anys(tt.want)) ||
			(got == nil) != (tt.want == nil) {
			t.Errorf("%+v to %v goes to %v, want %v", tt.o, tt.ids, got, tt.want)
		}
	}
}

func anys(l []string) []any {
	out := []any{}
	for _, s := range l {
		out = append(out, s)
	}
	return out
}

// Publications that are sent at once leave in the order of their numbers, also while the key is
// replaced.
func TestPublishersKeepOrder(t *testing.T) {
	p := newPair(t, ClientOptions{})
	p.sender.opts.Sign = false
	keys := sync.Map{}
	keys.Store(p.secrets.Shared(), true)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := p.sender.Publish(&job.Publication{JID: "1", Fun: []string{"x"},
					Target: "*"}, nil, 0); err != nil {
					t.Error(err)
				}
			}
		})
		if i == 4 {
			must(t, p.secrets.Rotate())
			keys.Store(p.secrets.Shared(), true)
		}
	}
	wg.Wait()
	last := map[string]int64{}
	for _, m := range p.box.take() {
		outer, err := payload.ParseFields(m.Body, payload.WireLimits())
		must(t, err)
		blob, _ := outer.Bytes("load")
		opened := false
		keys.Range(func(k, _ any) bool {
			key := k.(*crypto.Crypticle)
			plain, err := key.Open(blob, "")
			if err != nil {
				return true
			}
			opened = true
			n, _ := asMap(t, decoded(t, plain)).Value("serial").(int64)
			if n != last[key.Key()]+1 {
				t.Errorf("number %d comes after %d", n, last[key.Key()])
			}
			last[key.Key()] = n
			return false
		})
		if !opened {
			t.Error("a publication opens with no key")
		}
	}
}
