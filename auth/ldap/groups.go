package ldap

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// Groups returns the groups of a user, with the queries of Active Directory, FreeIPA or other
// servers. It binds as binddn with bindpw, or else as the user.
func (d *directory) Groups(ctx context.Context, l auth.Login) ([]string, error) {
	conn, closed, err := d.searcher(ctx, l)
	if err != nil {
		return nil, err
	}
	defer closed()
	switch {
	case d.active:
		return d.activeGroups(conn, l.Name)
	case d.freeIPA:
		return d.ipaGroups(conn, l.Name)
	}
	return d.posixGroups(conn, l.Name)
}

func (d *directory) searcher(ctx context.Context, l auth.Login) (*ldap.Conn, func(), error) {
	if d.bindPW != "" {
		return d.bound(ctx, d.own(l.Name), d.bindPW)
	}
	return d.asUser(ctx, l)
}

// search returns the entries in the subtree of base.
func search(conn *ldap.Conn, base, filter string, attributes ...string) ([]*ldap.Entry, error) {
	found, err := conn.Search(ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree,
		ldap.NeverDerefAliases, maxGroups, int(requestTimeout/time.Second), false,
		filter, attributes, nil))
	if err != nil {
		return nil, fmt.Errorf("search %s below %s: %w", filter, base, err)
	}
	return found.Entries, nil
}

// both returns a filter for an attribute and a class.
func both(attribute, value, class string) string {
	return "(&(" + attribute + "=" + ldap.EscapeFilter(value) + ")(objectClass=" + class + "))"
}

// activeGroups finds the user's entry, and then the groups with that member.
func (d *directory) activeGroups(conn *ldap.Conn, name string) ([]string, error) {
	users, err := search(conn, d.base, both(d.account, name, d.person), "distinguishedName")
	switch {
	case err != nil:
		return nil, err
	case len(users) == 0:
		return nil, errNobody
	case len(users) > 1:
		return nil, errSome
	}
	found, err := search(conn, d.base, both("member", users[0].DN, d.class), d.account, "cn")
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, e := range found {
		groups = appendNew(groups, e.GetAttributeValue("cn"))
	}
	return groups, nil
}

// ipaGroups returns the groups found by group_filter that list the user as a member.
func (d *directory) ipaGroups(conn *ldap.Conn, name string) ([]string, error) {
	if d.ipaBase == "" || d.ipaQuery == "" {
		return nil, errors.New("auth.ldap.group_basedn or auth.ldap.group_filter is missing")
	}
	found, err := search(conn, d.ipaBase, bracketed(render(d.ipaQuery, ldap.EscapeFilter(name))),
		d.account, d.group, "cn")
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, e := range found {
		members := slices.Concat(values(e, d.account), values(e, d.group))
		if slices.ContainsFunc(members, func(m string) bool { return firstOf(m) == name }) {
			groups = appendNew(groups, firstOf(e.DN))
		}
	}
	return groups, nil
}

// posixGroups returns the groups that list the user's name, and those listed in the user's own
// entry.
func (d *directory) posixGroups(conn *ldap.Conn, name string) ([]string, error) {
	base := d.base
	if d.groupOU != "" {
		base = "ou=" + d.groupOU + "," + base
	}
	found, err := search(conn, base, both(d.account, name, d.class), d.account, "cn", d.group)
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, e := range found {
		if slices.Contains(values(e, d.account), name) {
			groups = appendNew(groups, e.GetAttributeValue("cn"))
		}
		if firstOf(e.DN) == name {
			for _, g := range values(e, d.group) {
				groups = appendNew(groups, firstOf(g))
			}
		}
	}
	return groups, nil
}

// values returns the values of an attribute, whose name is compared without case.
func values(e *ldap.Entry, attribute string) []string {
	return e.GetEqualFoldAttributeValues(attribute)
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// firstOf returns the value of the first component of a distinguished name: web for
// cn=web,ou=groups. Other strings are returned unchanged.
func firstOf(dn string) string {
	parsed, err := ldap.ParseDN(dn)
	if err != nil || len(parsed.RDNs) == 0 || len(parsed.RDNs[0].Attributes) == 0 {
		return dn
	}
	return parsed.RDNs[0].Attributes[0].Value
}

// plainID matches computer names that may become the target of a rule.
var plainID = regexp.MustCompile(`^[a-z0-9_][a-z0-9_.-]*$`)

// Expand replaces each rule for ldap(DN) by rules for the minions below DN: the computers there, in
// lower case and without the domains of minion_stripdomains. Other rules are kept. It binds as
// binddn with bindpw.
func (d *directory) Expand(ctx context.Context, list []any) ([]any, error) {
	if !slices.ContainsFunc(list, func(v any) bool { base, _ := treeOf(v); return base != "" }) {
		return list, nil
	}
	if d.bindPW == "" {
		return nil, errors.New("rules for ldap(…) need auth.ldap.bindpw")
	}
	conn, closed, err := d.bound(ctx, d.bindDN, d.bindPW)
	if err != nil {
		return nil, err
	}
	defer closed()
	var all []any
	for _, v := range list {
		base, calls := treeOf(v)
		if base == "" {
			all = append(all, v)
			continue
		}
		ids, err := d.computers(conn, base)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			all = append(all, data.NewMap(id, calls))
		}
	}
	return all, nil
}

// treeOf returns the DN that a rule is for, and the calls it allows there.
func treeOf(rule any) (base string, calls any) {
	m, ok := rule.(*data.Map)
	if !ok || m.Len() != 1 {
		return "", nil
	}
	for k, v := range m.All() {
		name, _ := k.(string)
		inner, isTree := strings.CutPrefix(name, "ldap(")
		if inner, closed := strings.CutSuffix(inner, ")"); isTree && closed {
			return inner, v
		}
	}
	return "", nil
}

func (d *directory) computers(conn *ldap.Conn, base string) ([]string, error) {
	found, err := search(conn, base, "(objectClass=computer)", "cn")
	if ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range found {
		id := strings.ToLower(e.GetAttributeValue("cn"))
		for _, domain := range d.strip {
			if short, ok := strings.CutSuffix(id, domain); ok {
				id = short
				break
			}
		}
		if plainID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
