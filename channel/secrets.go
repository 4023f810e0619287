package channel

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/atomicfile"
)

// Secrets stores a master's session keys: the one that all minions share, and one for each minion.
//
// The shared key is only in memory and is made anew at each start. A minion's own key is in a file
// named after the minion (Salt's cachedir/sessions), where salt-key deletes it. Unlike Salt's it is
// also made anew at each start: the master no longer knows which requests it has executed, so a
// recorded one could be replayed under the old key (CVE-2024-38823). That costs minions little,
// since they sign in after a restart anyway to get the shared key. Several goroutines may use
// Secrets.
type Secrets struct {
	dir  *os.Root
	life atomic.Int64 // maximum age of keys in nanoseconds; 0 means no limit

	mu       sync.RWMutex
	shared   *crypto.Crypticle
	made     time.Time
	serial   *crypto.Serial
	sessions map[string]session
	hand     func(key string) error // of HandOver; nil if this master is alone

	// held while files change, but never with mu: a slow disk delays no minion with a known key
	files sync.Mutex
}

type session struct {
	crypticle *crypto.Crypticle
	made      time.Time
	// key of the minion that received the session key; nil if none has yet
	holder *crypto.PublicKey
	dated  bool  // requests not newer than oldest are refused
	oldest int64 // by the minion's clock, in Unix seconds
}

// NewSecrets returns the secrets of a master that starts now. The session keys of minions are
// stored in dir, which is emptied first. Like the shared key they are replaced once they are older
// than life; 0 means never.
func NewSecrets(dir *os.Root, life time.Duration) (*Secrets, error) {
	s := &Secrets{dir: dir, sessions: map[string]session{}}
	s.SetLife(life)
	if err := s.Prune(func(string) bool { return false }); err != nil {
		return nil, err
	}
	return s, s.Rotate()
}

// Rotate replaces the shared key and restarts the serial numbers of publications. Minions with the
// old key notice at the next publication and sign in again.
func (s *Secrets) Rotate() error {
	key := crypto.NewKeyString()
	s.mu.RLock()
	hand := s.hand
	s.mu.RUnlock()
	if hand != nil {
		return hand(key)
	}
	return s.Adopt(key, time.Now())
}

// HandOver makes Rotate pass each new shared key to hand, which calls Adopt once all masters of a
// cluster may use the key.
func (s *Secrets) HandOver(hand func(key string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand = hand
}

// Adopt makes a key that was made at a time the shared key, unless it is that already.
func (s *Secrets) Adopt(key string, made time.Time) error {
	c, err := crypto.NewCrypticle(key)
	if err != nil {
		return fmt.Errorf("use session key: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil && s.shared.Key() == key {
		return nil
	}
	s.shared, s.made, s.serial = c, made, &crypto.Serial{}
	return nil
}

// SetLife sets the maximum age of keys; 0 means no limit.
func (s *Secrets) SetLife(life time.Duration) { s.life.Store(int64(life)) }

// Due reports whether the shared key has exceeded its maximum age.
func (s *Secrets) Due() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.fresh(s.made)
}

// Shared returns the key that all minions share.
func (s *Secrets) Shared() *crypto.Crypticle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.shared
}

// next returns the shared key and the serial number of the next publication under it.
func (s *Secrets) next() (*crypto.Crypticle, int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.shared, s.serial.Next()
}

// Session returns the key of minion id. It makes a new one if there is none or it is too old. The
// id must be valid.
func (s *Secrets) Session(id string) (*crypto.Crypticle, error) {
	return s.session(id, true)
}

// SessionOf is Session for a minion with the given public key. If the session key was handed to a
// minion with another public key, which the operator has since replaced, a new session key is made.
func (s *Secrets) SessionOf(id string, holder *crypto.PublicKey) (*crypto.Crypticle, error) {
	s.mu.Lock()
	known, ok := s.sessions[id]
	s.mu.Unlock()
	if ok && known.holder != nil && !known.holder.Equal(holder) {
		if err := s.Forget(id); err != nil {
			return nil, err
		}
	}
	c, err := s.Session(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.sessions[id]; ok && known.crypticle == c {
		known.holder = holder
		s.sessions[id] = known
	}
	return c, nil
}

// Existing returns the key of minion id for decrypting its requests, or an error if it has none or
// it is too old. The id must be valid.
func (s *Secrets) Existing(id string) (*crypto.Crypticle, error) {
	return s.session(id, false)
}

func (s *Secrets) session(id string, mayMake bool) (*crypto.Crypticle, error) {
	if c := s.cached(id); c != nil {
		return c, nil
	}
	s.files.Lock()
	defer s.files.Unlock()
	if c := s.cached(id); c != nil {
		return c, nil
	}
	c, err := s.load(id)
	if err != nil && mayMake {
		c, err = s.create(id)
	}
	if err != nil {
		return nil, fmt.Errorf("get session key of minion %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = c
	return c.crypticle, nil
}

// cached returns the key of minion id if it is in memory and not too old, or nil.
func (s *Secrets) cached(id string) *crypto.Crypticle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c, ok := s.sessions[id]; ok && s.fresh(c.made) {
		return c.crypticle
	}
	return nil
}

// Forget deletes the key of minion id, also on disk.
func (s *Secrets) Forget(id string) error {
	s.files.Lock()
	defer s.files.Unlock()
	s.mu.Lock()
	delete(s.sessions, id)
	s.mu.Unlock()
	if err := s.dir.Remove(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop session key of minion %s: %w", id, err)
	}
	return nil
}

// outdate records which requests are no longer remembered: those that are not newer than the mark
// of their minion.
func (s *Secrets) outdate(marks map[string]mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, m := range marks {
		known, ok := s.sessions[id]
		if ok && known.crypticle == m.key && (!known.dated || known.oldest < m.at) {
			known.dated, known.oldest = true, m.at
			s.sessions[id] = known
		}
	}
}

// outdated reports whether a request of minion id may have been executed and forgotten since.
func (s *Secrets) outdated(id string, m mark) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, ok := s.sessions[id]
	return !ok || known.crypticle != m.key || known.dated && m.at <= known.oldest
}

func (s *Secrets) fresh(made time.Time) bool {
	life := time.Duration(s.life.Load())
	return life <= 0 || time.Since(made) < life
}

// maxSessionFile is the maximum size of a key file in bytes. Keys are shorter.
const maxSessionFile = 1024

var errTooOld = errors.New("too old")

func (s *Secrets) load(id string) (session, error) {
	info, err := s.dir.Lstat(id)
	switch {
	case err != nil:
		return session{}, err
	case !info.Mode().IsRegular() || info.Size() > maxSessionFile:
		return session{}, errors.New("not a file with a key")
	case !s.fresh(info.ModTime()):
		return session{}, errTooOld
	}
	text, err := s.dir.ReadFile(id)
	if err != nil {
		return session{}, err
	}
	c, err := crypto.NewCompactCrypticle(string(text))
	if err != nil {
		return session{}, err
	}
	return session{crypticle: c, made: info.ModTime()}, nil
}

func (s *Secrets) create(id string) (session, error) {
	c, err := crypto.NewCompactCrypticle(crypto.NewKeyString())
	if err != nil {
		return session{}, err
	}
	if err := atomicfile.WriteIn(s.dir, id, []byte(c.Key()), atomicfile.Options{}); err != nil {
		return session{}, err
	}
	return session{crypticle: c, made: time.Now()}, nil
}

// randomHex returns the hexadecimal text of n random bytes.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Prune deletes the keys of all minions for which keep returns false, for example after keys were
// deleted.
func (s *Secrets) Prune(keep func(id string) bool) error {
	dir, err := s.dir.Open(".")
	if err != nil {
		return fmt.Errorf("read session keys: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("read session keys: %w", err)
	}
	var errs []error
	for _, id := range names {
		if !keep(id) {
			errs = append(errs, s.Forget(id))
		}
	}
	return errors.Join(errs...)
}
