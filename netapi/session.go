package netapi

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// A Session is a login that a client names by its id: the cookie session_id, or X-Auth-Token.
type Session struct {
	ID    string // 40 hexadecimal digits
	Token Token
	used  time.Time
}

// A Token is a token of the master with whom it stands for.
type Token struct {
	Value         string // 64 hexadecimal digits; a session's id is never one
	User, Eauth   string
	Start, Expire time.Time
	Groups        []string
	Rights        []any // those that the token itself has (auth_list); nil if external_auth counts
}

// tokenOf reads a token from the form in which the master gives it. ok is false if it is none.
func tokenOf(m *data.Map) (t Token, ok bool) {
	t = Token{Value: m.Text("token"), User: m.Text("name"), Eauth: m.Text("eauth"),
		Start: auth.Moment(m.Value("start")), Expire: auth.Moment(m.Value("expire")),
		Groups: data.TextsOf(m.Value("groups"))}
	t.Rights, _ = m.Value("auth_list").([]any)
	return t, t.Value != "" && !t.Expire.IsZero()
}

// Caller returns the sender of requests of this session from an address.
func (s *Session) Caller(from netip.Addr) Caller {
	return Caller{Token: s.Token.Value, User: s.Token.User, From: from}
}

// sessionIdle is how long a session lives without a request, as Salt's do.
const sessionIdle = 10 * time.Hour

// Limits on sessions: the oldest unused one makes room for a new one.
const (
	mostSessions        = 100_000
	mostSessionsPerUser = 1_000
)

// sessions are the sessions of one program. They end with it.
type sessions struct {
	now  func() time.Time
	past *past // takes why sessions end

	mu    sync.Mutex
	byID  map[string]*Session
	users map[string]int // sessions of each user
	gone  []Token        // of sessions that have ended, until taken
	swept time.Time
}

func newSessions(now func() time.Time, ended *past) *sessions {
	return &sessions{now: now, past: ended, byID: map[string]*Session{}, users: map[string]int{}}
}

// add makes a session for a token. It ends the session that the client has already. In Salt such a session
// keeps its id, so that whoever knows the id is logged in as well.
func (s *sessions) add(old string, t Token) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.alive(old); known != nil {
		s.remove(known, whyReplaced)
	}
	s.makeRoom(t.User)
	made := &Session{ID: newID(), Token: t, used: s.now()}
	s.byID[made.ID] = made
	s.users[t.User]++
	return made
}

// taken returns the tokens of sessions that have ended since the last call.
func (s *sessions) taken() []Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.gone
	s.gone = nil
	return gone
}

// endAll ends all sessions.
func (s *sessions) endAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byID {
		s.remove(one, whyStopped)
	}
}

// newID returns a random id of a session.
func newID() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}

// sweepEvery is how often sessions that have ended are looked for, apart from when there are many.
const sweepEvery = time.Minute

// sweep removes the sessions that have ended.
func (s *sessions) sweep() {
	s.swept = s.now()
	for _, old := range s.byID {
		if why := s.over(old); why != "" {
			s.remove(old, why)
		}
	}
}

// makeRoom removes what has ended when there are many sessions, and then the one of the user, or of
// all, that has not been used for longest.
func (s *sessions) makeRoom(user string) {
	if len(s.byID) < mostSessions && s.users[user] < mostSessionsPerUser {
		return
	}
	s.sweep()
	var oldest *Session
	for _, other := range s.byID {
		if s.users[user] >= mostSessionsPerUser && other.Token.User != user {
			continue
		}
		if oldest == nil || other.used.Before(oldest.used) {
			oldest = other
		}
	}
	if oldest != nil && (len(s.byID) >= mostSessions || s.users[user] >= mostSessionsPerUser) {
		s.remove(oldest, whyCrowded)
	}
}

// get returns a session that has not ended, and notes its use; nil if there is none.
func (s *sessions) get(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.alive(id)
	if s.now().Sub(s.swept) >= sweepEvery {
		s.sweep()
	}
	if found == nil {
		return nil
	}
	found.used = s.now()
	copied := *found
	return &copied
}

// end ends a session for a reason. It reports whether there was one.
func (s *sessions) end(id, why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.alive(id)
	if found != nil {
		s.remove(found, why)
	}
	return found != nil
}

func (s *sessions) alive(id string) *Session {
	found := s.byID[id]
	if found == nil {
		return nil
	}
	if why := s.over(found); why != "" {
		s.remove(found, why)
		return nil
	}
	return found
}

// over returns why a session, or its token, has ended; "" if it has not.
func (s *sessions) over(one *Session) string {
	now := s.now()
	switch {
	case !now.Before(one.Token.Expire):
		return expiredSince(one.Token.Expire)
	case now.Sub(one.used) >= sessionIdle:
		return whyIdle
	}
	return ""
}

func (s *sessions) remove(one *Session, why string) {
	s.past.note(one.ID, trace{user: one.Token.User, why: why})
	delete(s.byID, one.ID)
	s.gone = append(s.gone, one.Token)
	if s.users[one.Token.User]--; s.users[one.Token.User] <= 0 {
		delete(s.users, one.Token.User)
	}
}
