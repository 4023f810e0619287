package pki

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/crypto"
)

// A SignIn is a sign-in request of a minion.
type SignIn struct {
	ID                           string
	PEM                          string // the public key as received
	Full, Sign, Reject, OpenMode bool   // as in Claim
	Policy                       crypto.Policy
}

// admitRounds limits how often a sign-in is judged again because the key was moved in the meantime.
const admitRounds = 8

// Admit judges a sign-in by the contents of the store and executes the verdict. The verdict can be
// sent as the reply even if err is not nil, which is only for the log. In that case it refuses the
// minion, or lets it wait if the error wraps ErrPendingFull.
func Admit(s Store, in SignIn) (Verdict, error) {
	if err := ValidID(in.ID); err != nil {
		return Verdict{}, fmt.Errorf("sign-in: %w", err)
	}
	incoming, keyErr := canonical(in.PEM, in.Policy)
	for range admitRounds {
		v, err := admitOnce(s, in, incoming)
		if errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
			continue // the key was changed concurrently: judge again
		}
		if err == nil && v.Reply == Refuse {
			err = keyErr
		}
		if err != nil {
			err = fmt.Errorf("sign-in of %s: %w", in.ID, err)
		}
		return v, err
	}
	return Verdict{}, fmt.Errorf("sign-in of %s: the key was moved repeatedly during the sign-in",
		in.ID)
}

func admitOnce(s Store, in SignIn, incoming string) (Verdict, error) {
	state, stored, err := s.Find(in.ID)
	if errors.Is(err, ErrNotFile) {
		return Verdict{Event: true}, err
	}
	if err != nil {
		return Verdict{}, err
	}
	v := Judge(Claim{State: state, Stored: stored, Incoming: incoming,
		Full: in.Full, Sign: in.Sign, Reject: in.Reject, OpenMode: in.OpenMode})
	switch err := carryOut(s, in.ID, incoming, v.Action); {
	case errors.Is(err, ErrPendingFull) && v.Action == CreatePending:
		return Verdict{Reply: Wait}, err
	case errors.Is(err, ErrPendingFull), errors.Is(err, ErrTooOften):
		return Verdict{Action: v.Action}, err
	case err != nil:
		return Verdict{}, err
	}
	return v, nil
}

func carryOut(s Store, id, pem string, a Action) error {
	switch a {
	case CreateAccepted:
		return s.Create(Accepted, id, pem)
	case CreatePending:
		return s.Create(Pending, id, pem)
	case CreateRejected:
		return s.Create(Rejected, id, pem)
	case Deny:
		return deny(s, id, pem)
	case AcceptPending:
		return s.Move(id, Pending, Accepted)
	case RejectPending:
		return s.Move(id, Pending, Rejected)
	case ReplaceAccepted:
		return s.Put(Accepted, id, pem)
	}
	return nil
}

// deny stores a denied key unless it is already stored, since denied minions keep trying.
func deny(s Store, id, pem string) error {
	if stored, err := s.Get(Denied, id); err == nil && stored == pem {
		return nil
	}
	return s.Put(Denied, id, pem)
}

// canonical returns the canonical text of a key, or "" and the reason for rejecting it.
func canonical(pem string, p crypto.Policy) (string, error) {
	key, err := p.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return "", err
	}
	return key.PEM(), nil
}
