package channel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/transport"
)

// TestTwoMastersAtFirstContact has a new minion sign in to two masters with different keys at once.
// Both have answered before it stores a key: it trusts one of them.
func TestTwoMastersAtFirstContact(t *testing.T) {
	for range 5 {
		keys := &memoryKeys{}
		var answered sync.WaitGroup
		answered.Add(2)
		errs := make([]error, 2)
		creds := make([]*Credentials, 2)
		var all sync.WaitGroup
		for i, master := range []string{"master", "other"} {
			r := newRig(t, rigOptions{master: master})
			r.accept("web1", "minion")
			c := newTestClient(t, r.ring["minion"], keys, "web1", afterAll(&answered, r.direct()),
				ClientOptions{AuthTries: 1})
			all.Go(func() { creds[i], errs[i] = c.SignIn(t.Context()) })
		}
		all.Wait()
		first := 0
		if errs[0] != nil {
			first = 1
		}
		if errs[first] != nil || !errors.Is(errs[1-first], ErrMasterKey) {
			t.Fatalf("the sign-ins: %v; want one ErrMasterKey", errs)
		}
		if text := errs[1-first].Error(); !strings.Contains(text, "it has changed") {
			t.Errorf("the refusal says: %s", text)
		}
		if keys.master != creds[first].MasterKey.PEM() {
			t.Error("the stored key is not that of the master that is trusted")
		}
	}
}

// afterAll hands out the reply of out when all have one.
func afterAll(all *sync.WaitGroup, out transport.Requester) transport.Requester {
	return wire(func(ctx context.Context, body []byte) ([]byte, error) {
		reply, err := out.Do(ctx, body)
		all.Done()
		all.Wait()
		return reply, err
	})
}

// TestSignedMastersAtFirstContact does the same with two masters whose keys one key signs: both are
// trusted.
func TestSignedMastersAtFirstContact(t *testing.T) {
	signing := newKey(t)
	keys := &memoryKeys{signing: signing.Public().PEM()}
	var answered, all sync.WaitGroup
	answered.Add(2)
	for _, master := range []string{"master", "other"} {
		r := newRig(t, rigOptions{master: master, signIn: SignInOptions{Signing: signing}})
		r.accept("web1", "minion")
		c := newTestClient(t, r.ring["minion"], keys, "web1", afterAll(&answered, r.direct()),
			ClientOptions{AuthTries: 1, VerifySigned: true})
		all.Go(func() {
			if _, err := c.SignIn(t.Context()); err != nil {
				t.Errorf("%s: %v", master, err)
			}
		})
	}
	all.Wait()
}

// TestRefusalOfAnotherMaster has the key of another master stored while the key of the minion waits
// for acceptance. The refusal comes without the key of the master.
func TestRefusalOfAnotherMaster(t *testing.T) {
	r := newRig(t, rigOptions{})
	keys := &memoryKeys{master: r.ring.pub("other")}
	c := newTestClient(t, r.ring["minion"], keys, "web1", r.direct(), ClientOptions{AuthTries: 1})
	_, err := c.SignIn(t.Context())
	if !errors.Is(err, ErrBadReply) || !errors.Is(err, ErrOtherMaster) {
		t.Errorf("SignIn = %v, want ErrBadReply and ErrOtherMaster", err)
	}
	keys.master = r.ring.pub("master")
	if _, err := c.SignIn(t.Context()); !errors.Is(err, ErrPending) || errors.Is(err, ErrOtherMaster) {
		t.Errorf("with the key of the master: %v, want ErrPending", err)
	}
}
