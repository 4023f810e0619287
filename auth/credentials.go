package auth

import (
	"net"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// A Kind is a way to prove who one is.
type Kind int

const (
	ByKey   Kind = iota // the key file of a user on the master's host
	ByToken             // a token that an earlier login was given
	ByEauth             // a login at an outside system
)

// String returns the name of k in Salt's texts.
func (k Kind) String() string {
	switch k {
	case ByToken:
		return "token"
	case ByEauth:
		return "eauth"
	}
	return "user"
}

// Credentials are what a request says of its sender, with nothing proved yet.
type Credentials struct {
	Kind    Kind
	Key     string    // content of the key file
	User    string    // on the master's host, or sudo_NAME
	HasUser bool      // the request has a field user
	Token   string    // for ByToken
	Eauth   string    // for ByEauth: the system of external_auth
	Fields  *data.Map // for ByEauth: username and password; nothing else reaches a system
	From    net.Addr  // where the request came from, for which logins are bounded; nil stands for the master itself
	Size    int       // bytes of the request, which stay in memory while a login waits
}

// fieldNames are the fields of a request, or of its kwargs, that credentials are made of.
var fieldNames = [...]string{"key", "user", "token", "eauth", "username", "password"}

// maxField is the longest of these fields, in bytes as it comes. Nothing that proves anything is longer.
const maxField = 16 << 10

// Pick returns the fields of a request that credentials are made of, and decodes nothing else: the request is of somebody not
// known yet. A field that is longer than any proof is nil, which proves nothing.
func Pick(fields payload.Fields) *data.Map {
	m := data.NewMap()
	for _, name := range fieldNames {
		raw := fields.Raw(name)
		if raw == nil {
			continue
		}
		var v any
		if len(raw) <= maxField {
			v, _ = payload.Unmarshal(raw, payload.PreAuthLimits())
		}
		m.Set(name, v)
	}
	return m
}

// loginFields are the fields of a request that a system of external_auth may see. Salt's loader lets eauth and token pass
// besides, which no module of Salt's asks for.
var loginFields = [...]string{"username", "password"}

// FromLoad takes the credentials of a request in which they stand at the top level: runner, wheel and mk_token. A field that
// should be a text and is none counts as the empty text, which proves nothing.
func FromLoad(load *data.Map) Credentials { return FromKwargs(load, load) }

// FromLogin takes the login of a request for a token, which has no other credentials.
func FromLogin(load *data.Map) Credentials {
	c := Credentials{Kind: ByEauth, Eauth: load.Text("eauth"), Fields: data.NewMap()}
	for _, name := range loginFields {
		if text, ok := load.Value(name).(string); ok {
			c.Fields.Set(name, text)
		}
	}
	return c
}

// FromKwargs takes the credentials of a publish: token and login stand in its kwargs, key and user beside them
// (salt/master.py, _prep_auth_info).
func FromKwargs(load, kwargs *data.Map) Credentials {
	switch {
	case kwargs.Has("token"):
		return Credentials{Kind: ByToken, Token: kwargs.Text("token"), Fields: data.NewMap()}
	case kwargs.Has("eauth"):
		return FromLogin(kwargs)
	}
	return Credentials{Key: load.Text("key"), User: load.Text("user"), HasUser: load.Has("user"), Fields: data.NewMap()}
}
