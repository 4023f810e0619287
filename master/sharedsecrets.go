package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

const (
	sessionKeyName = "session key" // of the shelf of secrets
	secretTime     = 5 * time.Second
)

// errOtherKey is returned if this master has another key than its cluster.
var errOtherKey = errors.New("this master has another key than its cluster")

// sharedSecrets are the private keys of the masters, and the session key that all minions share. NATS
// has them only sealed with the cluster key.
type sharedSecrets struct {
	base
	values  *cluster.Values
	dir     string // pki_dir
	secrets *channel.Secrets

	// identity tells the present stream of orders from others
	identity func(context.Context) (string, error)

	mu       sync.Mutex
	revision uint64 // of the session key in use
	stream   string // the identity of the stream of orders that it is for
}

// sessionKey is what the shelf has of the session key.
type sessionKey struct {
	Key    string `codec:"key"`
	Made   int64  `codec:"made"` // seconds since 1970
	Stream string `codec:"stream"`
}

// shareKey makes this master and its cluster have the same private key of a name. If the cluster has none, it
// gets that of this master, which create makes if it is missing. If this master has none, it gets that of the
// cluster. The error wraps errOtherKey if both have one and they differ.
func (s *sharedSecrets) shareKey(ctx context.Context, name string, create func() error) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	file := filepath.Join(s.dir, name+".pem")
	made := false // by this call
	for {
		theirs, revision, err := s.values.Get(ctx, name+".pem")
		if err != nil {
			return fmt.Errorf("look for the key %s of the cluster: %w", name, err)
		}
		own, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && theirs != nil:
			return s.writeKey(name, theirs)
		case errors.Is(err, fs.ErrNotExist):
			if err := create(); err != nil {
				return err
			}
			made = true
			continue
		case err != nil:
			return fmt.Errorf("read the key of this master: %w", err)
		case theirs != nil && bytes.Equal(own, theirs):
			return nil
		case theirs != nil && made: // another master that has just started was faster
			if err := s.dropKey(name); err != nil {
				return err
			}
			return s.writeKey(name, theirs)
		case theirs != nil:
			return &config.About{Option: "cluster", Err: fmt.Errorf(
				"%w: move %s and %s.pub away, and it takes that of the cluster", errOtherKey, file, name)}
		}
		_, err = s.values.Set(ctx, name+".pem", own, revision)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
}

// dropKey removes a key that nobody knows yet.
func (s *sharedSecrets) dropKey(name string) error {
	for _, ending := range []string{".pem", ".pub"} {
		if err := os.Remove(filepath.Join(s.dir, name+ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take the key of the cluster: %w", err)
		}
	}
	return nil
}

// writeKey writes the key of the cluster into the files of this master.
func (s *sharedSecrets) writeKey(name string, pem []byte) error {
	path := filepath.Join(s.dir, name+".pem")
	if err := atomicfile.Write(path, pem, atomicfile.Options{Mode: 0o400, New: true, Sync: true}); err != nil {
		return fmt.Errorf("write the key of the cluster: %w", err)
	}
	s.log.Infof("This master has taken the key %s of the cluster", path)
	return nil
}

// begin makes the session key of this master that of the cluster. A master that is alone makes a new
// one: which requests were executed under the old one is not known any more.
func (s *sharedSecrets) begin(ctx context.Context, secrets *channel.Secrets, alone bool) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	s.secrets = secrets
	for {
		err := s.beginOnce(ctx, alone)
		if errors.Is(err, cluster.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("share the session key: %w", err)
		}
		secrets.HandOver(s.hand)
		return nil
	}
}

// beginOnce is one attempt of begin. The error wraps cluster.ErrConflict if another member was faster.
func (s *sharedSecrets) beginOnce(ctx context.Context, alone bool) error {
	body, revision, err := s.values.Get(ctx, sessionKeyName)
	if err != nil {
		return err
	}
	stream, err := s.identity(ctx)
	if err != nil {
		return err
	}
	var k sessionKey
	if body != nil {
		if k, err = parseSessionKey(body); err != nil {
			return err
		}
	}
	// the serial numbers of another stream were other ones
	if body == nil || alone || k.Stream != stream {
		body, err = typed.Marshal(&sessionKey{Key: crypto.NewKeyString(), Made: s.now().Unix(), Stream: stream})
		if err != nil {
			return err
		}
		if revision, err = s.values.Set(ctx, sessionKeyName, body, revision); err != nil {
			return err
		}
	}
	return s.adopt(body, revision)
}

func parseSessionKey(body []byte) (k sessionKey, err error) {
	if err := typed.Unmarshal(body, payload.WireLimits(), &k); err != nil {
		return k, fmt.Errorf("session key of the cluster: %w", err)
	}
	return k, nil
}

// hand gives all members a new session key.
func (s *sharedSecrets) hand(key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), secretTime)
	defer cancel()
	stream, err := s.identity(ctx)
	if err != nil {
		return fmt.Errorf("share the new session key: %w", err)
	}
	body, err := typed.Marshal(&sessionKey{Key: key, Made: s.now().Unix(), Stream: stream})
	if err != nil {
		return err
	}
	revision, err := s.values.Put(ctx, sessionKeyName, body)
	if err != nil {
		return fmt.Errorf("share the new session key: %w", err)
	}
	return s.adopt(body, revision)
}

// follow adopts the session keys that other members make, until ctx ends.
func (s *sharedSecrets) follow(ctx context.Context) error {
	s.mu.Lock()
	after := s.revision
	s.mu.Unlock()
	err := s.values.Follow(ctx, after-1, nil, func(v cluster.Value) error {
		if v.Key != sessionKeyName || v.Body == nil {
			return nil
		}
		return s.adopt(v.Body, v.Revision)
	})
	return lostData(err)
}

// lostData makes the error that NATS has lost a stream one that ends the master: at its next start it
// joins the cluster anew.
func lostData(err error) error {
	if !errors.Is(err, cluster.ErrRestarted) {
		return err
	}
	return daemon.Fatal(fmt.Errorf("NATS has lost the data of the cluster; at the next start this master joins anew: %w", err))
}

// adopt uses a session key unless a later one is in use.
func (s *sharedSecrets) adopt(body []byte, revision uint64) error {
	k, err := parseSessionKey(body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.Stream == s.stream && revision <= s.revision {
		return nil
	}
	if err := s.secrets.Adopt(k.Key, time.Unix(k.Made, 0)); err != nil {
		return err
	}
	s.revision, s.stream = revision, k.Stream
	return nil
}
