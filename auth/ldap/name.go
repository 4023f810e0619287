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

// asked is where a template compares an attribute with the name of the user.
var asked = regexp.MustCompile(`([A-Za-z][A-Za-z0-9-]*)\s*~?=\s*\{\{\s*username\s*\}\}`)

// errUnread is returned when a user's entry does not show how he is spelled.
var errUnread = errors.New("the entry of the user cannot be read, so it is not known how he is spelled")

// Name returns the name of a user as his entry spells it: the value of the attribute that the filter, or binddn where it finds the
// user alone, compares with what was typed. Directories ignore case and some spaces there, and rights do not.
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
	if !strings.Contains(dn, "=") { // user@domain, of Active Directory
		attribute = "sAMAccountName"
		filter = "(|(" + attribute + "=" + ldap.EscapeFilter(l.Name) + ")(userPrincipalName=" + ldap.EscapeFilter(dn) + "))"
		dn, scope = d.base, ldap.ScopeWholeSubtree
	}
	found, err := conn.Search(ldap.NewSearchRequest(dn, scope, ldap.NeverDerefAliases, 2, int(requestTimeout.Seconds()), false, filter, []string{attribute}, nil))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnread, err)
	}
	if len(found.Entries) != 1 {
		return "", errUnread
	}
	return spelled(found.Entries[0], attribute, l.Name)
}

// nameOf returns the attribute that a template compares with the name, uid where it does not say.
func nameOf(template string) string {
	if m := asked.FindStringSubmatch(template); m != nil {
		return m[1]
	}
	return "uid"
}

// spelled returns the value of an attribute that is what was typed but for its case, else the one that is first in order.
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
