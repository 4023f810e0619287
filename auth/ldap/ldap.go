// Package ldap authenticates users with an LDAP server, finds their groups, and finds the minions
// below a part of the tree (salt/auth/ldap.py). Its options are Salt's auth.ldap.*:
//
//	auth.ldap.uri: ldaps://ldap.example.org        # or server, port and tls
//	auth.ldap.basedn: dc=example,dc=org
//	auth.ldap.binddn: uid={{ username }},ou=people,dc=example,dc=org
//
// With binddn alone, the login binds as the DN that the template yields. With binddn and bindpw,
// that account first searches for the user with filter, and then the login binds as the one entry
// found. Each login makes its own connection.
//
// It deliberately differs from Salt's module. User input is escaped in names and filters.
// auth_by_group_membership_only with anonymous is rejected, since it would accept everybody without
// a password, and so is no_verify. Instead auth.ldap.cafile, an option of Brine, names the
// certificates of a private authority. Templates support only {{ username }}.
package ldap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 10 * time.Second
	maxGroups      = 10_000 // entries per search
)

// A directory is one LDAP server, or several with the same tree.
type directory struct {
	uris     []string
	startTLS bool
	tls      *tls.Config

	base     string
	scope    int
	bindDN   string // a template
	bindPW   string
	filter   string // a template
	account  string // accountattributename
	group    string // groupattribute
	person   string // persontype
	class    string // groupclass
	groupOU  string
	active   bool // activedirectory
	freeIPA  bool
	ipaBase  string   // group_basedn
	ipaQuery string   // group_filter, a template
	strip    []string // minion_stripdomains
}

var (
	_ auth.System   = (*directory)(nil)
	_ auth.Grouper  = (*directory)(nil)
	_ auth.Expander = (*directory)(nil)
)

// Open returns the system described by the options auth.ldap.*. It does not connect.
func Open(opts *data.Map) (auth.System, error) {
	o := options{opts}
	d := &directory{
		startTLS: o.truth("starttls"), base: o.text("basedn", ""), bindDN: o.text("binddn", ""),
		bindPW: o.text("bindpw", ""), filter: o.text("filter", ""),
		account: o.text("accountattributename", "memberUid"),
		group:   o.text("groupattribute", "memberOf"), person: o.text("persontype", "person"),
		class: o.text("groupclass", "posixGroup"), groupOU: o.text("groupou", "Groups"),
		active: o.truth("activedirectory"), freeIPA: o.truth("freeipa"),
		ipaBase:  o.text("group_basedn", ""),
		ipaQuery: o.text("group_filter", ""),
		strip:    o.list("minion_stripdomains"),
	}
	if err := d.check(o); err != nil {
		return nil, err
	}
	d.uris = strings.Fields(o.text("uri", ""))
	if len(d.uris) == 0 {
		scheme := map[bool]string{true: "ldaps://", false: "ldap://"}[o.truth("tls")]
		d.uris = []string{scheme + net.JoinHostPort(o.text("server", "localhost"),
			o.text("port", "389"))}
	}
	var err error
	if d.scope, err = strconv.Atoi(o.text("scope", "2")); err != nil || d.scope < 0 || d.scope > 2 {
		return nil, errors.New("auth.ldap.scope is not 0, 1 or 2")
	}
	d.tls, err = trust(o.text("cafile", ""))
	return d, err
}

// check rejects options that cannot work, or that would accept everybody.
func (d *directory) check(o options) error {
	switch {
	case o.truth("no_verify"):
		return errors.New("auth.ldap.no_verify is not supported; name the certificates of the authority in auth.ldap.cafile")
	case o.truth("anonymous") && o.truth("auth_by_group_membership_only"):
		return errors.New("auth.ldap.auth_by_group_membership_only with anonymous would let everybody in without a password, and is not supported")
	case d.startTLS && o.truth("tls"):
		return errors.New("auth.ldap.starttls and auth.ldap.tls are both on")
	case d.bindDN == "":
		return errors.New("auth.ldap.binddn is missing")
	case d.bindPW != "" && d.filter == "":
		return errors.New("auth.ldap.filter is missing, which looks for the user as auth.ldap.binddn")
	}
	for _, t := range []string{d.bindDN, d.filter, d.ipaQuery} {
		if rest := username.ReplaceAllString(t, ""); strings.Contains(rest, "{{") ||
			strings.Contains(rest, "{%") {
			return fmt.Errorf("auth.ldap: the template %q contains more than {{ username }}", t)
		}
	}
	return nil
}

// trust returns the TLS configuration that trusts the authorities of the system, or those in a
// file.
func trust(file string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return c, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("auth.ldap.cafile: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("auth.ldap.cafile: %s holds no certificate", file)
	}
	return c, nil
}

// options gives access to auth.ldap.*.
type options struct{ all *data.Map }

func (o options) text(name, otherwise string) string {
	v := o.all.Value("auth.ldap." + name)
	if v == nil {
		return otherwise
	}
	return data.Str(v)
}

func (o options) truth(name string) bool { return data.Truth(o.all.Value("auth.ldap." + name)) }

func (o options) list(name string) []string {
	items, _ := o.all.Value("auth.ldap." + name).([]any)
	var all []string
	for _, item := range items {
		all = append(all, data.Str(item))
	}
	return all
}

// username matches the placeholder for the user name in a template.
var username = regexp.MustCompile(`\{\{\s*username\s*\}\}`)

func render(template, name string) string {
	return username.ReplaceAllLiteralString(template,
		name)
}

// connect connects to the first server that answers. The connection is closed when ctx ends, or by
// calling closed.
func (d *directory) connect(ctx context.Context) (conn *ldap.Conn, closed func(), err error) {
	for _, uri := range d.uris {
		conn, e := d.dial(uri)
		if e == nil {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			return conn, func() { stop(); conn.Close() }, nil
		}
		err = errors.Join(err, fmt.Errorf("connect to %s: %w", uri, e))
	}
	return nil, nil, err
}

func (d *directory) dial(uri string) (*ldap.Conn, error) {
	config := d.tls.Clone()
	conn, err := ldap.DialURL(uri, ldap.DialWithDialer(&net.Dialer{Timeout: dialTimeout}),
		ldap.DialWithTLSConfig(config))
	if err != nil {
		return nil, err
	}
	conn.SetTimeout(requestTimeout)
	if d.startTLS {
		config.ServerName = hostOf(uri)
		if err := conn.StartTLS(config); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// hostOf returns the host name in a URI.
func hostOf(uri string) string {
	_, host, _ := strings.Cut(uri, "://")
	host, _, _ = strings.Cut(host, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// bound returns a connection bound as dn.
func (d *directory) bound(ctx context.Context, dn, password string) (*ldap.Conn, func(), error) {
	conn, closed, err := d.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := conn.Bind(dn, password); err != nil { // the library rejects an empty password
		closed()
		return nil, nil, fmt.Errorf("bind as %s: %w", dn, err)
	}
	return conn, closed, nil
}

// Login reports whether the server accepts the password for the user's entry.
func (d *directory) Login(ctx context.Context, l auth.Login) (bool, error) {
	_, closed, err := d.asUser(ctx, l)
	if ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) || errors.Is(err, errNobody) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	closed()
	return true, nil
}

// asUser returns a connection bound as the user.
func (d *directory) asUser(ctx context.Context, l auth.Login) (*ldap.Conn, func(), error) {
	dn := d.own(l.Name)
	if d.bindPW != "" {
		var err error
		if dn, err = d.find(ctx, l.Name); err != nil {
			return nil, nil, err
		}
	}
	return d.bound(ctx, dn, l.Password)
}

// own returns the template binddn with a name inserted. The name is escaped in a distinguished
// name, but not in user@domain.
func (d *directory) own(name string) string {
	if strings.Contains(d.bindDN, "=") {
		name = ldap.EscapeDN(name)
	}
	return render(d.bindDN, name)
}

var (
	errNobody = errors.New("the server knows no such user")
	errSome   = errors.New("the filter finds several users")
)

// find returns the one entry that the filter finds for a user, searching as binddn with bindpw.
func (d *directory) find(ctx context.Context, name string) (dn string, err error) {
	conn, closed, err := d.bound(ctx, d.own(name), d.bindPW)
	if err != nil {
		// A wrong password of this account must not look like one of the user.
		return "", fmt.Errorf("search account: %s", err) //nolint:errorlint // on purpose
	}
	defer closed()
	filter := render(d.filter, ldap.EscapeFilter(name))
	found, err := conn.Search(ldap.NewSearchRequest(d.base, d.scope, ldap.NeverDerefAliases, 2,
		int(requestTimeout/time.Second), false, bracketed(filter), []string{"1.1"}, nil))
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
		return "", errSome
	case ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject):
		return "", fmt.Errorf("search %s: %w", d.base, err)
	case err != nil:
		return "", fmt.Errorf("search %s: %w", filter, err)
	case len(found.Entries) > 1:
		return "", errSome
	case len(found.Entries) == 0 || found.Entries[0].DN == "":
		return "", errNobody
	}
	return found.Entries[0].DN, nil
}

// bracketed adds brackets to a filter without them, as C libraries do.
func bracketed(filter string) string {
	if strings.HasPrefix(filter, "(") {
		return filter
	}
	return "(" + filter + ")"
}
