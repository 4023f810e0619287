package netapi

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// An Audit writes one line for each login and order: who, from where, what, and how it ended; for orders
// to minions also how many minions the answer is about. It never has passwords, tokens or arguments.
type Audit struct{ Log logrus.FieldLogger }

func (a *Audit) login(user string, from netip.Addr, err error) {
	if a == nil {
		return
	}
	l := a.Log.WithFields(logrus.Fields{"user": clip(user), "from": from.String()})
	if err != nil {
		l.Warnf("login refused: %s", clip(err.Error()))
		return
	}
	l.Info("login")
}

func (a *Audit) order(user string, from netip.Addr, low *data.Map, answer *Answer, err error) {
	if a == nil {
		return
	}
	fields := logrus.Fields{"user": clip(user), "from": from.String(), "client": clip(data.Str(low.Value("client"))),
		"fun": clip(textsOf(low.Value("fun")))}
	if target := low.Value("tgt"); target != nil {
		fields["target"] = clip(textsOf(target))
	}
	if answer != nil && strings.HasPrefix(low.Text("client"), "local") {
		fields["minions"] = answer.minions()
	}
	if err != nil {
		if r, ok := errors.AsType[*Rejection](err); ok {
			r.logged = true
		}
		a.Log.WithFields(fields).Warnf("order refused: %s", clip(err.Error()))
		return
	}
	a.Log.WithFields(fields).Info("order")
}

// refused writes why a credential was refused; skipped similar lines were left out before.
func (a *Audit) refused(r *Rejection, from netip.Addr, skipped int) {
	fields := logrus.Fields{"from": from.String()}
	if r.User != "" {
		fields["user"] = clip(r.User)
	}
	if skipped > 0 {
		fields["skipped"] = skipped
	}
	a.Log.WithFields(fields).Warnf("request refused: %s", r)
}

func textsOf(v any) string {
	if list, ok := v.([]any); ok {
		return strings.Join(data.Texts(list), ",")
	}
	return data.Str(v)
}

// minions returns how many minions an answer is about.
func (a *Answer) minions() int {
	n := 0
	for _, item := range a.Items {
		m, ok := item.(*data.Map)
		switch sent, isJob := m.Value("minions").([]any); {
		case !ok:
		case isJob && m.Has("jid"):
			n += len(sent)
		default:
			n += m.Len()
		}
	}
	return n
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
