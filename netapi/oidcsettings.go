package netapi

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// OIDC is the option oidc: the provider of OpenID Connect at which users log in.
type OIDC struct {
	Issuer        string
	ClientID      string
	ClientSecret  string // of client_secret or client_secret_file
	RedirectURL   string // the address of /oidc/callback, as browsers reach it
	Scopes        []string
	UsernameClaim string
	GroupsClaim   string
}

// OIDCSystem is the section of external_auth with the rights of those users, and the eauth of their
// tokens.
const OIDCSystem = auth.OIDCSystem

// oidcCallback is the end of redirect_url.
const oidcCallback = "/oidc/callback"

// mostSecretFile limits client_secret_file, in bytes.
const mostSecretFile = 16 << 10

func readOIDC(r *reader, d *Door, path []any, v any) {
	section, ok := v.(*data.Map)
	if !ok {
		r.wrong(path, "must be a dictionary of options",
			"write oidc: {issuer: URL, client_id: ID, client_secret_file: FILE, redirect_url: https://HOST"+oidcCallback+"}")
		return
	}
	o := &OIDC{Scopes: []string{"openid", "profile", "groups"}, UsernameClaim: "preferred_username", GroupsClaim: "groups"}
	file := ""
	texts := map[string]*string{"issuer": &o.Issuer, "client_id": &o.ClientID, "client_secret": &o.ClientSecret,
		"client_secret_file": &file, "redirect_url": &o.RedirectURL, "username_claim": &o.UsernameClaim,
		"groups_claim": &o.GroupsClaim}
	before := len(r.findings)
	for key, value := range section.All() {
		at := append(slices.Clone(path), key)
		name := data.Str(key)
		field, isText := texts[name]
		text, ok := value.(string)
		switch {
		case name == "scopes":
			o.Scopes = listOf(value)
		case !isText:
			suggestion := ""
			if near := config.Nearest(name, append(slices.Sorted(maps.Keys(texts)), "scopes")); near != "" {
				suggestion = "is " + near + " meant?"
			}
			r.wrong(at, "there is no such option", suggestion)
		case !ok:
			r.wrong(at, "must be a text", "put it in quotes")
		default:
			*field = text
		}
	}
	if len(r.findings) == before {
		o.check(r, path, file)
	}
	d.OIDC = o
}

func (o *OIDC) check(r *reader, path []any, file string) {
	at := func(name string) []any { return append(slices.Clone(path), name) }
	if why := checkProviderURL(o.Issuer); why != "" {
		r.wrong(at("issuer"), why, "write the address of the provider, such as issuer: https://login.example.com")
	}
	if o.ClientID == "" {
		r.wrong(at("client_id"), "is missing", "write the id that the provider has given to salt-api")
	}
	o.readSecret(r, at, file)
	if why := checkRedirect(o.RedirectURL); why != "" {
		r.wrong(at("redirect_url"), why, "write the address of salt-api for browsers: https://HOST"+oidcCallback)
	}
	if !slices.Contains(o.Scopes, "openid") {
		r.wrong(at("scopes"), "lack openid, without which the provider does not say who logs in", "add openid")
	}
	if o.UsernameClaim == "" {
		r.wrong(at("username_claim"), "is empty", "write username_claim: preferred_username")
	}
}

// readSecret reads client_secret_file.
func (o *OIDC) readSecret(r *reader, at func(string) []any, file string) {
	const suggestion = "write the secret into a file that only the master's user can read, and name that"
	switch {
	case file != "" && o.ClientSecret != "":
		r.wrong(at("client_secret_file"), "stands beside client_secret", "remove one of the two")
		return
	case file == "" && o.ClientSecret == "":
		r.wrong(at("client_secret_file"), "is missing", suggestion)
		return
	case file == "":
		return
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostSecretFile {
		r.wrong(at("client_secret_file"), fmt.Sprintf("%s is no file with a secret", file), suggestion)
		return
	}
	if info.Mode().Perm()&0o004 != 0 {
		r.doubt(at("client_secret_file"), file+" can be read by every user of this host", "chmod 640 "+file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.wrong(at("client_secret_file"), err.Error(), suggestion)
		return
	}
	if o.ClientSecret = strings.TrimSpace(string(text)); o.ClientSecret == "" {
		r.wrong(at("client_secret_file"), file+" is empty", suggestion)
	}
}

// checkProviderURL says what is wrong with the address of a provider: others could read and change
// what comes without TLS from another host.
func checkProviderURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing"
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http":
		return "is no address of a provider: '" + clip(text) + "'"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "must begin with https://, as the provider is not on this host"
	}
	return ""
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func checkRedirect(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing: it is not taken from requests, whose sender chooses their Host"
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http" || !strings.HasSuffix(u.Path, oidcCallback):
		return "must be an address that ends in " + oidcCallback + ", not '" + clip(text) + "'"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "must begin with https://: the login would travel readable"
	}
	return ""
}

// checkOIDC finds what makes logins at a provider useless.
func (r *reader) checkOIDC(section string, d *Door, opts *data.Map) {
	if d == nil || d.OIDC == nil {
		return
	}
	if !d.Sessions {
		r.wrong([]any{section, "oidc"}, "needs sessions, which enable_sessions turns off", "remove one of the two")
	}
	if first, _, _ := strings.Cut(strings.Trim(d.WebhookURL, "/"), "/"); first == "oidc" {
		r.wrong([]any{section, "webhook_url"}, "is an address of logins by oidc", "choose another")
	}
	if external, _ := opts.Value("external_auth").(*data.Map); !external.Has(OIDCSystem) {
		r.doubt([]any{"external_auth"}, "has no section oidc, so that nobody who logs in at "+d.OIDC.Issuer+" may do anything",
			"write external_auth: {oidc: {NAME: ['.*'], 'GROUP%': ['@jobs']}}")
	}
}
