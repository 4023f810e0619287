package channel

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

const publishFile = "06-publish.json"

// outbox is a publish port that keeps what is published.
type outbox struct{ sent []transport.Message }

func (o *outbox) Serve(context.Context) error   { return nil }
func (o *outbox) Publish(m transport.Message)   { o.sent = append(o.sent, m) }
func (o *outbox) Peers() int                    { return 0 }
func (o *outbox) Addr() net.Addr                { return nil }
func (o *outbox) Stats() transport.Stats        { return transport.Stats{} }
func (o *outbox) Close() error                  { return nil }
func (o *outbox) take() (m []transport.Message) { m, o.sent = o.sent, nil; return m }

func TestVectorPublish(t *testing.T) {
	f := vectors.Load(t, publishFile)
	sections := []string{"signed_unfiltered", "unsigned", "filtered", "filtered_order_masters"}
	vectors.Later(t, f, sections, nil)
	ring := keysOf(t, f)
	for _, section := range sections {
		run := &vectors.Case{Name: section, Map: asMap(t, f.Top.Value("runs").(*data.Map).Value(section))}
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) {
				c.On(t).Only("name", "salt_argv", "exit_code", "client_requests", "publications")
				playPublications(t, ring, run.On(t), c.On(t))
			})
		}
	}
}

func playPublications(t *testing.T, ring keyring, run, c *vectors.Case) {
	t.Helper()
	var topics []string
	pubs := c.Sub("publications")
	for i, p := range pubs {
		p = p.On(t)
		p.Only("parts", "topic", "payload_keys", "load_plain_bytes", "load", "signature",
			"signature_verifies_over_load_bytes")
		subscribes(t, ring, run, p)
		if topic, ok := p.Map.Value("topic").(string); ok {
			topics = append(topics, topic)
		}
		if i == len(pubs)-1 || pubs[i+1].On(t).Object("load").Value("serial") != p.Object("load").Value("serial") {
			publishes(t, ring, run, p, topics)
			topics = nil
		}
	}
}

func lastPart(t *testing.T, p *vectors.Case) []byte {
	t.Helper()
	parts := p.List("parts")
	return (&vectors.Case{Map: data.NewMap("part", parts[len(parts)-1])}).On(t).Bytes("part")
}

func publicationClient(t *testing.T, ring keyring, session string, o ClientOptions) *Client {
	t.Helper()
	key, err := crypto.NewCrypticle(session)
	must(t, err)
	out := wire(func(context.Context, []byte) ([]byte, error) { return nil, errOneReply })
	o.AuthTries = 1
	// any key will do: nothing is proved here
	c := newTestClient(t, ring["master"], &memoryKeys{}, "web1", out, o)
	c.creds = &Credentials{Shared: key, Version: 2, MasterKey: ring["master"].Public()}
	return c
}

// subscribes lets a minion open a publication of the original.
func subscribes(t *testing.T, ring keyring, run, p *vectors.Case) {
	t.Helper()
	signed := run.Object("master_opts").Value("sign_pub_messages") == true
	c := publicationClient(t, ring, run.Text("session_aes_key"), ClientOptions{RequireSigned: signed})
	pub, err := c.OpenPublication(t.Context(), lastPart(t, p))
	must(t, err)
	want := p.Object("load").Clone()
	want.Delete("serial")
	if got := pub.Map(); data.Repr(sorted(got)) != data.Repr(sorted(want)) {
		t.Errorf("publication is %s, want %s", data.Repr(got), data.Repr(want))
	}
	if _, err := c.OpenPublication(t.Context(), lastPart(t, p)); !errors.Is(err, ErrStale) {
		t.Errorf("the second time: %v, want ErrStale", err)
	}
	if !signed {
		strict := publicationClient(t, ring, run.Text("session_aes_key"), ClientOptions{RequireSigned: true})
		if _, err := strict.OpenPublication(t.Context(), lastPart(t, p)); !errors.Is(err, ErrBadReply) {
			t.Errorf("unsigned publication where signatures are required: %v", err)
		}
	}
}

func sorted(m *data.Map) *data.Map {
	keys := m.Keys()
	slices.SortFunc(keys, func(a, b any) int { return bytes.Compare([]byte(data.Str(a)), []byte(data.Str(b))) })
	out := data.NewMap()
	for _, k := range keys {
		out.Set(k, m.Value(k))
	}
	return out
}

// publishes sends the same load and compares it with the original's message and topics.
func publishes(t *testing.T, ring keyring, run, p *vectors.Case, topics []string) {
	t.Helper()
	opts := run.Object("master_opts")
	o := PublisherOptions{Sign: opts.Value("sign_pub_messages") == true,
		Filter:  opts.Value("zmq_filtering") == true,
		Syndics: opts.Value("order_masters") == true}
	r := newRig(t, rigOptions{ring: ring, session: run.Text("session_aes_key")})
	load := p.Object("load")
	number, _ := load.Value("serial").(int64)
	r.secrets.serial = crypto.NewSerial(number - 1)
	pub, err := job.ParsePublication(withoutSerial(load))
	must(t, err)
	box := &outbox{}
	must(t, NewPublisher(ring["master"], r.secrets, box, o).Publish(pub, idsOf(t, topics, o.Filter), 0))
	sent := box.take()
	if len(sent) != 1 || !slices.Equal(sent[0].Topics, topics) {
		t.Fatalf("%d messages, to %v, want one to %v", len(sent), sent[0].Topics, topics)
	}
	comparePublication(t, ring, r, p, o, sent[0].Body)
}

func withoutSerial(m *data.Map) *data.Map {
	m = m.Clone()
	m.Delete("serial")
	return m
}

// idsOf returns the minions whose topics are given; nil for a broadcast.
func idsOf(t *testing.T, topics []string, filter bool) []string {
	t.Helper()
	if !filter || slices.Contains(topics, TopicBroadcast) {
		return nil
	}
	ids := []string{}
	for _, topic := range topics {
		i := slices.IndexFunc([]string{"web1", "web2", "db1", "gone1", "nosuch"},
			func(id string) bool { return Topic(id) == topic })
		switch {
		case i >= 0:
			ids = append(ids, []string{"web1", "web2", "db1", "gone1", "nosuch"}[i])
		case topic != TopicSyndic:
			t.Fatalf("topic %s is nobody's", topic)
		}
	}
	return ids
}

func comparePublication(
	t *testing.T, ring keyring, r *rig, p *vectors.Case, o PublisherOptions, body []byte,
) {
	t.Helper()
	outer, err := payload.ParseFields(body, payload.WireLimits())
	must(t, err)
	var keys []any
	for _, f := range outer {
		if f.Key != "sig_algo" { // which later versions send, and 3006.0 does not look at
			keys = append(keys, f.Key)
		}
	}
	if !data.Equal(keys, p.List("payload_keys")) || outer.Has("sig_algo") != o.Sign {
		t.Errorf("publication has %v, want %v", keys, p.List("payload_keys"))
	}
	blob, _ := outer.Bytes("load")
	plain, err := r.secrets.Shared().Open(blob, "")
	must(t, err)
	if data.Repr(decoded(t, plain)) != data.Repr(p.Object("load")) {
		t.Errorf("load is %s, want %s", data.Repr(decoded(t, plain)), data.Repr(p.Object("load")))
	}
	if !bytes.Equal(plain, p.Bytes("load_plain_bytes")) {
		t.Errorf("load is %q, want %q", plain, p.Bytes("load_plain_bytes"))
	}
	if sig, _ := outer.Bytes("sig"); o.Sign {
		must(t, ring["master"].Public().Verify(blob, sig, crypto.SHA1Sign))
	}
}
