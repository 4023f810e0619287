package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// refusal returns a fault that says in plain words what was refused and which right lacks. It wraps the
// fault with the words of the master.
func refusal(low *data.Map, f *netapi.Fault) error {
	fun := strings.Join(data.TextsOf(low.Value("fun")), ", ")
	text := "You have no right to " + fun + " on these minions."
	switch client, _, _ := strings.Cut(low.Text("client"), "_"); {
	case notKnown(f.Text):
		text = "The master does not know your login any more. Log out and in again."
	case client == auth.Runner, client == auth.Wheel:
		text = "You lack the right @" + client + " to " + fun + "."
	case f.Text == unseen:
		text = "The configuration of salt-api (api_acl) does not let you in from this address."
	default:
		if ids := data.TextsOf(low.Value("tgt")); len(ids) == 1 && low.Text("tgt_type") == "list" {
			text = "You have no right to " + fun + " on " + clip(ids[0], 200) + "."
		}
	}
	return &netapi.Fault{Status: f.Status, Text: text, Err: f}
}

// lateAnswer returns the fault of an order that has taken longer than a page can wait.
func lateAnswer(low *data.Map, err error) error {
	who := "The master has"
	if ids := data.TextsOf(low.Value("tgt")); low.Text("client") == "local" && len(ids) == 1 {
		who = clip(ids[0], 200) + " has"
	}
	text := who + " not answered within " + strconv.Itoa(int(wait.Seconds())) + " seconds."
	return &netapi.Fault{Status: http.StatusGatewayTimeout, Text: text, Err: err}
}

// notKnown reports whether a refusal is about who the user is, and not about what they may do: the name
// of the user is only in the latter (salt/master.py, runner).
func notKnown(text string) bool {
	if strings.HasPrefix(text, "Authentication failure") {
		return !strings.Contains(text, " for user ")
	}
	return text == "Invalid token" || text == "Authentication error occurred."
}

// unseen is the text of a gate that refuses a user from an address.
const unseen = "No permission -- see authorization schemes"

// refused reports whether the user has no right to an order.
func refused(err error) bool {
	f, ok := errors.AsType[*netapi.Fault](err)
	return ok && (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden)
}

// badRequest returns the fault of a form or address that cannot be carried out.
func badRequest(text string) error { return &netapi.Fault{Status: http.StatusBadRequest, Text: text} }

// masterText is what a master has answered where a result was expected: the reason of a fault.
type masterText string

// Error returns the text.
func (m masterText) Error() string { return string(m) }

// badAnswer returns the fault of an answer that is no result. Its text has the last line of a traceback
// only.
func badAnswer(status int, what string, v any) error {
	text := strings.TrimSpace(data.Str(v))
	reason := reasonIn(text)
	f := &netapi.Fault{Status: status, Text: what + ": " + reason}
	if reason != text {
		f.Err = masterText(text)
	}
	return f
}

// rawText returns the words of the master behind a fault, if they are others than those of the fault.
func rawText(f *netapi.Fault) string {
	if inner, ok := errors.AsType[*netapi.Fault](f.Err); ok && inner.Text != f.Text {
		return clip(inner.Text, 2000)
	}
	if text, ok := errors.AsType[masterText](f.Err); ok {
		return clip(string(text), 2000)
	}
	return ""
}

// reasonIn returns the reason in the text of a runner that has failed: what is wrong with its arguments,
// or the last line of a traceback.
func reasonIn(text string) string {
	text, _, _ = strings.Cut(text, "\n\nUsage:")
	text = strings.TrimPrefix(strings.TrimSpace(text), "Passed invalid arguments: ")
	if strings.Contains(text, "Traceback (most recent call last)") {
		lines := strings.Split(text, "\n")
		text = strings.TrimSpace(lines[len(lines)-1])
		if class, said, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(class, "salt.exceptions.") {
			text = said
		}
	}
	return clip(text, 500)
}

// noRight returns the fault that a user lacks a right.
func noRight(kind, fun string) error {
	return &netapi.Fault{Status: http.StatusForbidden, Text: "You lack the right " + kind + " to " + fun + "."}
}

// explain names the right that a user lacks.
func explain(err error, fun string) error {
	if refused(err) {
		return &netapi.Fault{Status: http.StatusForbidden, Err: netapi.FaultOf(err).Err,
			Text: "You have no right to " + fun + " on these minions."}
	}
	return err
}

func missingFunction(fun string) error {
	text := "This master has no function " + fun + ". Brine's master has it."
	return &netapi.Fault{Status: http.StatusNotImplemented, Text: text, Err: errNoFunction}
}

// errNoFunction means that the master has no such function, as Salt's has none of those that only Brine's
// has.
var errNoFunction = errors.New("the master has no such function")
