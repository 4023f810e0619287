package pki

import "github.com/brineproject/brine/crypto"

// A Claim is what Judge decides on.
type Claim struct {
	State    State  // of the key stored for the id, from Store.Find
	Stored   string // its text
	Incoming string // the key that signs in; "" when it cannot be read, is weak or is missing
	Full     bool   // max_minions are connected, and this one is not among them
	Sign     bool   // a rule accepts the id (Autosign)
	Reject   bool   // a rule rejects the id (Autosign)
	OpenMode bool   // the option open_mode: take every key for every id
}

// An Action is what a verdict does to the Store.
type Action int

// The actions.
const (
	Keep            Action = iota // nothing
	CreateAccepted                // store the incoming key as accepted
	CreatePending                 // store the incoming key as pending
	CreateRejected                // store the incoming key as rejected
	Deny                          // store the incoming key as denied
	AcceptPending                 // move the pending key to the accepted
	RejectPending                 // move the pending key to the rejected
	ReplaceAccepted               // store the incoming key as accepted in place of any
)

var actionNames = [...]string{"keep", "create accepted", "create pending", "create rejected", "deny",
	"accept pending", "reject pending", "replace accepted"}

// String returns the action in words.
func (a Action) String() string { return actionNames[a] }

// A Reply is what the minion is told.
type Reply int

// The replies.
const (
	Refuse  Reply = iota // ret: false
	Wait                 // ret: true
	TooMany              // ret: "full"
	Accept               // the map with the keys
)

// Ret returns the value of the field ret in the reply; nil for Accept, which has none.
func (r Reply) Ret() any {
	switch r {
	case Refuse:
		return false
	case Wait:
		return true
	case TooMany:
		return "full"
	}
	return nil
}

// String returns the reply in a word.
func (r Reply) String() string { return [...]string{"refuse", "wait", "full", "accept"}[r] }

// A Verdict is the answer to a sign-in.
type Verdict struct {
	Action Action
	Reply  Reply
	Event  bool   // whether salt/auth is fired
	Act    string // the field act of the event: accept, pend, reject, denied, full; "" where Salt leaves it out
}

// Result returns the field result of the event salt/auth.
func (v Verdict) Result() bool { return v.Reply == Accept || v.Reply == Wait }

// Judge decides on a sign-in by the order and the table of Salt's master (salt/channel/server.py:
// ReqServerChannel._auth). Keys are compared as keys, not as texts. Unlike Salt it never stores what is not a good key.
func Judge(c Claim) Verdict {
	switch {
	case c.Full:
		return Verdict{Keep, TooMany, true, "full"}
	case c.Incoming == "":
		return Verdict{Keep, Refuse, false, ""}
	case c.OpenMode:
		return judgeOpen(c)
	}
	switch c.State {
	case Rejected:
		return Verdict{Keep, Refuse, true, ""}
	case Accepted:
		return judgeAccepted(c)
	case Pending:
		return judgePending(c)
	}
	return judgeNew(c)
}

func (c Claim) same() bool { return crypto.SameKey(c.Stored, c.Incoming) }

func judgeOpen(c Claim) Verdict {
	if c.State == Accepted && c.same() {
		return Verdict{Keep, Accept, true, "accept"}
	}
	return Verdict{ReplaceAccepted, Accept, true, "accept"}
}

func judgeAccepted(c Claim) Verdict {
	if c.same() {
		return Verdict{Keep, Accept, true, "accept"}
	}
	return Verdict{Deny, Refuse, true, "denied"}
}

func judgeNew(c Claim) Verdict {
	switch {
	case c.Reject:
		return Verdict{CreateRejected, Refuse, true, "reject"}
	case c.Sign:
		return Verdict{CreateAccepted, Accept, true, "accept"}
	}
	return Verdict{CreatePending, Wait, true, "pend"}
}

func judgePending(c Claim) Verdict {
	switch {
	case c.Reject:
		return Verdict{RejectPending, Refuse, true, "reject"}
	case !c.same() && c.Sign:
		return Verdict{Deny, Refuse, true, ""}
	case !c.same():
		return Verdict{Deny, Refuse, true, "denied"}
	case c.Sign:
		return Verdict{AcceptPending, Accept, true, "accept"}
	}
	return Verdict{Keep, Wait, true, "pend"}
}
