package channel

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// Topics of zmq_filtering that do not belong to a minion.
const (
	TopicBroadcast = "broadcast"
	TopicSyndic    = "syndic"
)

// Topic returns the topic that minion id subscribes to if zmq_filtering is on.
func Topic(id string) string {
	sum := sha1.Sum([]byte(id))
	return hex.EncodeToString(sum[:])
}

// PublisherOptions configure a [Publisher].
type PublisherOptions struct {
	Sign      bool   // sign each publication (sign_pub_messages)
	Algorithm string // publish_signing_algorithm
	Filter    bool   // send to topics (zmq_filtering)
	Syndics   bool   // syndics listen too (order_masters)
}

// A Publisher encrypts, numbers and signs publications. Several goroutines may use it.
type Publisher struct {
	opts    PublisherOptions
	key     *crypto.PrivateKey
	secrets *Secrets
	out     transport.Publisher

	mu sync.Mutex // minions refuse numbers out of order, so sealing and sending are one step
}

// NewPublisher returns a publisher that signs with key and sends through out.
func NewPublisher(
	key *crypto.PrivateKey, secrets *Secrets, out transport.Publisher, o PublisherOptions,
) *Publisher {
	return &Publisher{opts: o, key: key, secrets: secrets, out: out}
}

// Publish sends a publication to all minions, or to ids if they are given. It has the given serial
// number, or the next one of this master if that is 0. With filtering each of
// these gets its own copy, and transports that know their minions send it to no others
// (salt/transport/zeromq.py, PublishServer.publish_payload; salt/transport/tcp.py,
// PubServer.publish_payload). If syndics listen, only filtering uses ids, since any minion may be
// below a syndic.
func (p *Publisher) Publish(pub *job.Publication, ids []string, serial int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := p.seal(pub, serial)
	if err != nil {
		return fmt.Errorf("publish job %s: %w", pub.JID, err)
	}
	m := transport.Message{Topics: p.topics(ids), Body: body}
	if !p.opts.Syndics {
		m.IDs = ids
	}
	p.out.Publish(m)
	return nil
}

// PublishToSyndics sends a publication to syndics only, with a serial number as Publish does. A transport that identifies its subscribers
// sends it to ids; to others it goes with the topic of syndics, which no minion takes
// (salt/transport/zeromq.py, PublishClient).
func (p *Publisher) PublishToSyndics(pub *job.Publication, ids []string, serial int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := p.seal(pub, serial)
	if err != nil {
		return fmt.Errorf("publish job %s to syndics: %w", pub.JID, err)
	}
	p.out.Publish(transport.Message{Topics: []string{TopicSyndic}, IDs: append([]string{}, ids...),
		Body: body})
	return nil
}

// Exchange replaces the signing key. It calls do while nothing is sent; if do fails, the key stays.
func (p *Publisher) Exchange(key *crypto.PrivateKey, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	p.key = key
	return nil
}

func (p *Publisher) topics(ids []string) []string {
	switch {
	case !p.opts.Filter:
		return nil
	case ids == nil:
		return []string{TopicBroadcast}
	}
	topics := make([]string, 0, len(ids)+1)
	for _, id := range ids {
		topics = append(topics, Topic(id))
	}
	if p.opts.Syndics {
		topics = append(topics, TopicSyndic)
	}
	return topics
}

func (p *Publisher) seal(pub *job.Publication, serial int64) ([]byte, error) {
	load := pub.Map()
	key := p.secrets.Shared()
	if serial == 0 {
		key, serial = p.secrets.next()
	}
	load.Set("serial", serial)
	plain, err := payload.Marshal(load)
	if err != nil {
		return nil, err
	}
	blob := key.Seal(plain, "")
	outer := data.NewMap("enc", "aes", "load", blob)
	if p.opts.Sign {
		sig, err := p.key.Sign(blob, cmp.Or(p.opts.Algorithm, crypto.SHA1Sign))
		if err != nil {
			return nil, err
		}
		outer.Set("sig_algo", cmp.Or(p.opts.Algorithm, crypto.SHA1Sign))
		outer.Set("sig", sig)
	}
	return payload.Marshal(outer)
}
