package ldap

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/brineproject/brine/auth"
)

var _ auth.Namer = (*directory)(nil)

// asked matches the comparison of an attribute with the user name in a template.
var asked = regexp.MustCompile(`([A-Za-z][A-Za-z0-9-]*)\s*~?=\s*\{\{\s*username\s*\}\}`)

// errUnread is returned if the spelling of a user name cannot be read from their entry.
var errUnread = errors.New("the entry of the user cannot be read, so it is not known how he is spelled")

// Name returns the spelling of a user name in the user's entry: the value of the attribute that the
// filter, or binddn if used alone, compares with the input. Directories ignore case and some spaces
// in such comparisons, but rules do not.
func (d *directory) Name(ctx context.Context, l auth.Login) (string, error) {
	dn, filter, attribute := d.own(l.Name), "(objectClass=*)", nameOf(d.bindDN)
	if d.bindPW != "" {
		var err error
		if dn, err = d.find(ctx, l.Name); err != nil {
			return "", err
		}
		attribute = nameOf(d.filter)
	}
	conn, closed, err := d.searcher(ctx, l)
	if err != nil {
		return "", err
	}
	defer closed()
	scope := ldap.ScopeBaseObject
	if !strings.Contains(dn, "=") { // Active Directory's user@domain
		attribute = "sAMAccountName"
		filter = "(|(" + attribute + "=" + ldap.EscapeFilter(l.Name) + ")(userPrincipalName=" +
			ldap.EscapeFilter(dn) + "))"
		dn, scope = d.base, ldap.ScopeWholeSubtree
	}
	found, err := conn.Search(ldap.NewSearchRequest(dn, scope, ldap.NeverDerefAliases, 2,
		int(requestTimeout.Seconds()), false, filter, []string{attribute}, nil))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnread, err)
	}
	if len(found.Entries) != 1 {
		return "", errUnread
	}
	return spelled(found.Entries[0], attribute, l.Name)
}

// nameOf returns the attribute that a template compares with the name, or uid if there is none.
func nameOf(template string) string {
	if m := asked.FindStringSubmatch(template); m != nil {
		return m[1]
	}
	return "uid"
}

// spelled returns the value of an attribute that equals the input except for case, else the first
// in sorted order.
func spelled(e *ldap.Entry, attribute, typed string) (string, error) {
	all := slices.Sorted(slices.Values(values(e, attribute)))
	if len(all) == 0 || all[0] == "" {
		return "", errUnread
	}
	for _, v := range all {
		if strings.EqualFold(v, typed) {
			return v, nil
		}
	}
	return all[0], nil
}
