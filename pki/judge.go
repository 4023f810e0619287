package pki

import "github.com/brineproject/brine/crypto"

// A Claim is the input of Judge.
type Claim struct {
	State    State  // state of the key stored for the id, from Store.Find
	Stored   string // its text
	Incoming string // key of the sign-in; "" if it is unreadable, weak or missing
	Full     bool   // max_minions are connected, not including this one
	Sign     bool   // a rule accepts the id (Autosign)
	Reject   bool   // a rule rejects the id (Autosign)
	OpenMode bool   // option open_mode: accept every key for every id
}

// An Action is the change that a verdict makes to the Store.
type Action int

// The actions.
const (
	Keep            Action = iota // no change
	CreateAccepted                // store the incoming key as accepted
	CreatePending                 // store the incoming key as pending
	CreateRejected                // store the incoming key as rejected
	Deny                          // store the incoming key as denied
	AcceptPending                 // move the pending key to the accepted
	RejectPending                 // move the pending key to the rejected
	ReplaceAccepted               // store the incoming key as accepted, replacing any other
)

var actionNames = [...]string{"keep", "create accepted", "create pending",
	"create rejected", "deny", "accept pending", "reject pending", "replace accepted"}

// String describes the action.
func (a Action) String() string { return actionNames[a] }

// A Reply is the master's reply to a sign-in.
type Reply int

// The replies.
const (
	Refuse  Reply = iota // ret: false
	Wait                 // ret: true
	TooMany              // ret: "full"
	Accept               // the map with the keys
)

// Ret returns the field ret of the reply; nil for Accept, which has none.
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

// String returns the name of the reply.
func (r Reply) String() string { return [...]string{"refuse", "wait", "full", "accept"}[r] }

// A Verdict is the decision on a sign-in.
type Verdict struct {
	Action Action
	Reply  Reply
	Event  bool   // whether salt/auth is fired
	Act    string // field act of the event: accept, pend, reject, denied, full; "" if Salt omits it
}

// Result returns the field result of the event salt/auth.
func (v Verdict) Result() bool { return v.Reply == Accept || v.Reply == Wait }

// Judge decides on a sign-in by the rules of Salt's master (salt/channel/server.py:
// ReqServerChannel._auth). It compares keys, not their texts. Unlike Salt it never stores an
// invalid key.
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
