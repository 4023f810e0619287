package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Grants returns the state mysql_grants.
//
// Differences from Salt: a grant that could not be revoked is a failure. revoke_first revokes the
// user's privileges on the same database, as Salt's documentation says; Salt finds nothing to
// revoke.
func Grants() loader.Plugin {
	return state("mysql_grants", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentGrant).Secret("connection_pass"),
			loader.F("present", m.presentGrant).Secret("connection_pass"),
		}
	})
}

// A grant holds the arguments of functions about a grant.
type grant struct {
	Name        string
	Grant       any `default:"None"`
	Database    any `default:"None"`
	User        any `default:"None"`
	Host        any `default:"'localhost'"`
	GrantOption any `default:"False"`
	Escape      any `default:"True"`
}

type presentGrantArgs struct {
	grant
	RevokeFirst any       `default:"False"`
	SslOption   any       `default:"False"`
	Conn        *data.Map `kwargs:"connection_args"`
}

type absentGrantArgs struct {
	grant
	Conn *data.Map `kwargs:"connection_args"`
}

// words returns the texts for comments: the grant, the database, and the user with the host.
func (a grant) words() (what, database, user string) {
	return data.Str(a.Grant), data.Str(a.Database), data.Str(a.User) + "@" + data.Str(a.Host)
}

func (m *module) granted(ctx context.Context, a grant, conn *data.Map) (any, error) {
	return m.call(ctx, "grant_exists", conn, nil,
		a.Grant, a.Database, a.User, a.Host, a.GrantOption, a.Escape)
}

// presentGrant grants privileges to a user.
//
// grant
//
//	The privileges, separated by commas.
//
// database
//
//	Where they apply: *.*, or a database and a table or a star, separated by a dot.
//
// user, host
//
//	The grantee.
//
// grant_option
//
//	True: the user may grant them to others.
//
// escape
//
//	False: do not quote the names of database and table.
//
// revoke_first
//
//	True: first revoke what the user has there.
//
// ssl_option
//
//	A list of requirements for the user's connections: SSL, X509, CIPHER, ISSUER, SUBJECT.
//
//	frank_exampledb:
//	  mysql_grants.present:
//	    - grant: select,insert,update
//	    - database: exampledb.*
//	    - user: frank
//	    - host: localhost
func (m *module) presentGrant(ctx context.Context, a presentGrantArgs) (change.Result, error) {
	what, database, user := a.words()
	return desired{
		name:   a.Name,
		wanted: true,
		there: func(ctx context.Context) (bool, error) {
			there, err := m.granted(ctx, a.grant, a.Conn)
			return seen(ctx, there, err)
		},
		make: func(ctx context.Context) error {
			if data.Truth(a.RevokeFirst) {
				if err := m.revokeAll(ctx, a); err != nil {
					return change.Raise(err)
				}
			}
			added, err := m.call(ctx, "grant_add", a.Conn, nil,
				a.Grant, a.Database, a.User, a.Host, a.GrantOption, a.Escape, a.SslOption)
			failed := fmt.Sprintf(`Failed to execute: "GRANT %s ON %s TO %s"`, what, database, user)
			return refusal(ctx, failed, added, err)
		},
		texts: change.Texts{
			Same:  fmt.Sprintf("Grant %s on %s to %s is already present", what, database, user),
			Would: fmt.Sprintf("MySQL grant %s is set to be created", a.Name),
			Done:  fmt.Sprintf("Grant %s on %s to %s has been added", what, database, user),
		},
	}.ensure(ctx)
}

// revokeAll revokes the privileges that a user has on the database of a new grant.
func (m *module) revokeAll(ctx context.Context, a presentGrantArgs) error {
	v, err := m.call(ctx, "user_grants", a.Conn, nil, a.User, a.Host)
	if err != nil {
		return err
	}
	grants, err := calls.FoundIn[[]any]("mysql.user_grants", v)
	if err != nil {
		return err
	}
	for _, g := range grants {
		t, err := m.call(ctx, "tokenize_grant", nil, nil, g)
		if err != nil {
			return err
		}
		tokens, err := calls.FoundIn[*data.Map]("mysql.tokenize_grant", t)
		if err != nil {
			return err
		}
		list, _ := tokens.Value("grant").([]any)
		if bare(tokens.Text("database")) != bare(data.Str(a.Database)) || len(list) == 0 {
			continue
		}
		words := strings.Join(data.Texts(list), ",")
		_, err = m.call(ctx, "grant_revoke", a.Conn, nil,
			words, a.Database, a.User, a.Host, a.GrantOption, a.Escape)
		if err != nil {
			return err
		}
	}
	return nil
}

func bare(s string) string { return strings.NewReplacer("`", "", `\`, "").Replace(s) }

// absentGrant revokes privileges of a user. The arguments are those of present.
//
//	frank_exampledb:
//	  mysql_grants.absent:
//	    - grant: select,insert,update
//	    - database: exampledb.*
//	    - user: frank
//	    - host: localhost
func (m *module) absentGrant(ctx context.Context, a absentGrantArgs) (change.Result, error) {
	what, database, user := a.words()
	return desired{
		name: a.Name,
		there: func(ctx context.Context) (bool, error) {
			there, err := m.granted(ctx, a.grant, a.Conn)
			if text := serverError(ctx); err == nil && !data.Truth(there) && text != "" {
				return false, change.Reason(fmt.Sprintf("Unable to determine if grant %s on %s for %s exists (%s)",
					what, database, user, text))
			}
			return data.Truth(there), change.Raise(err)
		},
		make: func(ctx context.Context) error {
			gone, err := m.call(ctx, "grant_revoke", a.Conn, nil,
				a.Grant, a.Database, a.User, a.Host, a.GrantOption)
			failed := fmt.Sprintf("Unable to revoke grant %s on %s for %s", what, database, user)
			return refusal(ctx, failed, gone, err)
		},
		texts: change.Texts{
			Same: fmt.Sprintf("Grant %s on %s to %s is not present, so it cannot be revoked", what,
				database, user),
			Would: fmt.Sprintf("MySQL grant %s is set to be revoked", a.Name),
			Done:  fmt.Sprintf("Grant %s on %s for %s has been revoked", what, database, user),
		},
	}.ensure(ctx)
}
