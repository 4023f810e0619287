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

// Secrets keeps a master's session keys: the one that all minions share, and one for each minion.
//
// The shared key lives in memory alone and is made anew at each start. A minion's own key lies in a file named after
// the minion (Salt's cachedir/sessions), where salt-key drops it, but is made anew at each start too, unlike Salt's: the
// master knows no longer which requests it has done, and one that somebody recorded would be done again under the old
// key (CVE-2024-38823). It costs minions little, as they sign in after a restart anyway to get the shared key. Several
// goroutines may use Secrets.
type Secrets struct {
	dir  *os.Root
	life atomic.Int64 // nanoseconds; 0 is for ever

	mu       sync.RWMutex
	shared   *crypto.Crypticle
	made     time.Time
	serial   *crypto.Serial
	sessions map[string]session

	files sync.Mutex // held while files change, and never while mu is: a slow disk delays nobody whose key is known
}

type session struct {
	crypticle *crypto.Crypticle
	made      time.Time
	holder    *crypto.PublicKey // the minion's own key that it was given out to; nil where nobody has it yet
	dated     bool              // requests under the key are refused that are not newer than oldest
	oldest    int64             // by the minion's clock, in Unix seconds
}

// NewSecrets returns the secrets of a master that starts now. Session keys of minions lie in dir, which is emptied, and,
// as the shared one, are replaced when they are older than life; 0 means never.
func NewSecrets(dir *os.Root, life time.Duration) (*Secrets, error) {
	s := &Secrets{dir: dir, sessions: map[string]session{}}
	s.SetLife(life)
	if err := s.Prune(func(string) bool { return false }); err != nil {
		return nil, err
	}
	return s, s.Rotate()
}

// Rotate replaces the shared key and starts the serial numbers of publications again. Minions that hold the old key
// notice at the next publication and sign in again.
func (s *Secrets) Rotate() error {
	c, err := crypto.NewCrypticle(crypto.NewKeyString())
	if err != nil {
		return fmt.Errorf("make session key: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared, s.made, s.serial = c, time.Now(), &crypto.Serial{}
	return nil
}

// SetLife replaces how long keys live.
func (s *Secrets) SetLife(life time.Duration) { s.life.Store(int64(life)) }

// Due reports whether the shared key is older than its life.
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

// Session returns the key of minion id, making it where there is none or it is too old. The id must be valid.
func (s *Secrets) Session(id string) (*crypto.Crypticle, error) {
	return s.session(id, true)
}

// SessionOf is Session for the holder of a minion's own key. Who had another one, which an operator has replaced, knows the
// session key of before, so there is a new one then.
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

// Existing returns the key of minion id where the minion has one that is not too old, for reading its requests. The id
// must be valid.
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
		return nil, fmt.Errorf("session key of minion %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = c
	return c.crypticle, nil
}

// cached returns the key of minion id when it is in memory and not too old, else nil.
func (s *Secrets) cached(id string) *crypto.Crypticle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c, ok := s.sessions[id]; ok && s.fresh(c.made) {
		return c.crypticle
	}
	return nil
}

// Forget drops the key of minion id for good.
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

// outdate notes which requests nobody remembers any longer: those that are not newer than the mark of their minion.
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

// outdated reports whether a request of minion id may have been done and forgotten since.
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

// maxSessionFile is more than a key needs, in bytes.
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

// Prune forgets the keys of all minions that keep does not name, as after a key was deleted.
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
