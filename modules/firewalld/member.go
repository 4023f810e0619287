package firewalld

import (
	"context"
)

type interfaceArgs struct {
	Zone, Interface string
	Permanent       any `default:"True"`
}

type sourceArgs struct {
	Zone, Source string
	Permanent    any `default:"True"`
}

type ruleArgs struct {
	Zone, Rule string
	Permanent  any `default:"True"`
}

// getInterfaces returns the interfaces of a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_interfaces zone
func (m *module) getInterfaces(ctx context.Context, a zoneArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-interfaces")
}

// addInterface adds an interface to a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.add_interface zone eth0
func (m *module) addInterface(ctx context.Context, a interfaceArgs) (any, error) {
	if _, err := m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-interfaces"); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--add-interface="+a.Interface)
}

// removeInterface removes an interface from a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_interface zone eth0
func (m *module) removeInterface(ctx context.Context, a interfaceArgs) (any, error) {
	if _, err := m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-interfaces"); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--remove-interface="+a.Interface)
}

// getSources returns the sources of a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_sources zone
func (m *module) getSources(ctx context.Context, a zoneArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-sources")
}

// addSource adds a source, such as a network, to a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.add_source zone 192.168.1.0/24
func (m *module) addSource(ctx context.Context, a sourceArgs) (any, error) {
	if _, err := m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-sources"); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--add-source="+a.Source)
}

// removeSource removes a source, such as a network, from a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_source zone 192.168.1.0/24
func (m *module) removeSource(ctx context.Context, a sourceArgs) (any, error) {
	if _, err := m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-sources"); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--remove-source="+a.Source)
}

// getRichRules returns the rules of a zone that are in the rich language.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_rich_rules zone
func (m *module) getRichRules(ctx context.Context, a zoneArgs) (any, error) {
	return m.lines(ctx, a.Permanent, "--zone="+a.Zone, "--list-rich-rules")
}

// addRichRule adds a rule in the rich language to a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.add_rich_rule zone 'rule'
func (m *module) addRichRule(ctx context.Context, a ruleArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--add-rich-rule="+a.Rule)
}

// removeRichRule removes a rule in the rich language from a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_rich_rule zone 'rule'
func (m *module) removeRichRule(ctx context.Context, a ruleArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--remove-rich-rule="+a.Rule)
}
