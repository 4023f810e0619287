package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	access "github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/runners"
)

// Keys are the API keys of a master, as auth.Tokens has them.
type Keys interface {
	AddKey(access.APIKey) (secret string, added access.APIKey, err error)
	Keys() ([]access.APIKey, error)
	// DeleteKey deletes the key with an id or a name. The error wraps auth.ErrNoToken if there is none.
	DeleteKey(ref string) (access.APIKey, error)
}

type mkKeyArgs struct {
	Name    string
	Rights  any
	Expire  any    `default:"'90d'"`
	User    string `default:"''"`
	Comment string `default:"''"`

	Other *data.Map `kwargs:"other"`
}

// mkKey makes an API key, with which a program gives orders to salt-api without a login. The answer has its secret, which
// cannot be had again.
//
// name
//
//	The name of the key.
//
// rights
//
//	A list of what it may do, in the form of external_auth. It may do nothing else. An entry that can never
//	allow anything is refused.
//
// expire : 90d
//
//	For how long it is valid, such as 12h, 90d or 52w. never makes one that does not expire.
//
// user
//
//	Who acts with it, as jobs show it; by default the name of the key.
//
// comment
//
//	A text for auth.list_keys.
//
// CLI Example:
//
//	salt-run auth.mk_key name=ci rights='["test.*", {"web*": ["state.apply"]}, "@jobs"]'
//	salt-run auth.mk_key name=monitor rights='["@jobs"]' expire=never user=ann comment='the dashboard'
func (m *module) mkKey(ctx context.Context, a mkKeyArgs) (any, error) {
	if err := onlyKnown(runners.Words(a.Other)); err != nil {
		return nil, err
	}
	k := access.APIKey{Name: a.Name, User: a.User, Comment: a.Comment}
	switch rights := a.Rights.(type) {
	case []any:
		k.Rights = rights
	case string:
		k.Rights = []any{rights}
	default:
		return nil, refused("rights must be a list, for example rights='[\"test.*\", \"@jobs\"]'")
	}
	if err := access.CheckRights(k.Rights, append(m.env.Functions.Modules(), m.env.Registry("wheel").Modules()...)); err != nil {
		return nil, refused("rights: %v", err)
	}
	life, err := lifetime(a.Expire)
	if err != nil {
		return nil, err
	}
	if life > 0 {
		k.Expire = time.Now().Add(life).Truncate(time.Second)
	}
	var shown *data.Map
	err = m.tokens.Store(ctx, func(keys Keys) error {
		secret, added, err := keys.AddKey(k)
		if err != nil {
			return refused("%v", err)
		}
		shown = show(added)
		shown.Set("secret", secret)
		return nil
	})
	return shown, err
}

// refused returns the error of a key that is not made. Its text is the result, and the program salt-run ends
// with the code 1.
func refused(format string, args ...any) error {
	return &runners.UnableError{Text: "No key was made: " + fmt.Sprintf(format, args...)}
}

// onlyKnown refuses arguments that mk_key does not have: with a misspelt expire, the key would be valid for
// longer than was meant.
func onlyKnown(other *data.Map) error {
	known := []string{"name", "rights", "expire", "user", "comment"}
	for key := range other.All() {
		name := data.Str(key)
		if near := config.Nearest(name, known); near != "" {
			return refused("there is no argument %s; is %s meant?", name, near)
		}
		return refused("there is no argument %s; there are %s", name, strings.Join(known, ", "))
	}
	return nil
}

// mostLife is the longest life of a key that expires.
const mostLife = 100 * 365 * 24 * time.Hour

// lifetime reads a time such as 90d; 0 is forever.
func lifetime(v any) (time.Duration, error) {
	text := strings.TrimSpace(data.Str(v))
	if text == "never" || text == "0" {
		return 0, nil
	}
	wrong := refused("expire must be a time such as 12h, 90d or 52w, or never, not %s", data.Repr(v))
	if len(text) < 2 {
		return 0, wrong
	}
	unit, ok := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
		'y': 365 * 24 * time.Hour}[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 32)
	if !ok || err != nil || n < 1 || n > int64(mostLife/unit) {
		return 0, wrong
	}
	return time.Duration(n) * unit, nil
}

// listKeys returns the API keys by their ids: name, user, rights, times and comment. It has no secrets.
//
// CLI Example:
//
//	salt-run auth.list_keys
func (m *module) listKeys(ctx context.Context, _ struct{}) (any, error) {
	found := data.NewMap()
	err := m.tokens.Store(ctx, func(keys Keys) error {
		all, err := keys.Keys()
		for _, k := range all {
			found.Set(k.ID, show(k))
		}
		return err
	})
	return found, err
}

type delKeyArgs struct{ Name any }

// delKey deletes an API key and returns whether there was one. It is refused from then on.
//
// name
//
//	Its id, as auth.list_keys shows it, or its name.
//
// CLI Example:
//
//	salt-run auth.del_key ci
//	salt-run auth.del_key 3f9a0c1b2d4e
func (m *module) delKey(ctx context.Context, a delKeyArgs) (any, error) {
	there := false
	err := m.tokens.Store(ctx, func(keys Keys) error {
		_, err := keys.DeleteKey(data.Str(a.Name))
		if errors.Is(err, access.ErrNoToken) {
			return nil
		}
		there = err == nil
		return err
	})
	return there, err
}

// show describes a key.
func show(k access.APIKey) *data.Map {
	moment := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.UTC().Format(time.RFC3339)
	}
	m := data.NewMap("id", k.ID, "name", k.Name, "user", k.User, "rights", k.Rights, "start", moment(k.Start),
		"expire", moment(k.Expire), "used", moment(k.Used))
	if k.Comment != "" {
		m.Set("comment", k.Comment)
	}
	return m
}
