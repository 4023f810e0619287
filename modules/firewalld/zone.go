package firewalld

import (
	"context"

	"github.com/brineproject/brine/data"
)

type permanentArgs struct {
	Permanent any `default:"True"`
}

type zoneArgs struct {
	Zone      string
	Permanent any `default:"True"`
}

type anyZoneArgs struct {
	Zone      any `default:"None"`
	Permanent any `default:"True"`
}

// with returns an option with that of the zone before it, if there is one.
func (a anyZoneArgs) with(option string) []string {
	if !data.Truth(a.Zone) {
		return []string{option}
	}
	return []string{"--zone=" + data.Str(a.Zone), option}
}

type zoneRestartArgs struct {
	Zone    string
	Restart any `default:"True"`
}

// listZones returns everything about all zones, by zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_zones
func (m *module) listZones(ctx context.Context, a permanentArgs) (any, error) {
	return m.zones(ctx, a.Permanent, "--list-all-zones")
}

// listAll returns everything about a zone. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_all my_zone
func (m *module) listAll(ctx context.Context, a anyZoneArgs) (any, error) {
	return m.zones(ctx, a.Permanent, a.with("--list-all")...)
}

// getZones returns the names of the zones.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_zones
func (m *module) getZones(ctx context.Context, a permanentArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--get-zones")
}

// getServices returns the names of the services that firewalld knows.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_services
func (m *module) getServices(ctx context.Context, a permanentArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--get-services")
}

// getIcmpTypes returns the names of the ICMP types that firewalld knows.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_icmp_types
func (m *module) getIcmpTypes(ctx context.Context, a permanentArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--get-icmptypes")
}

// newZone creates a zone in the permanent configuration.
//
// restart
//
//	True, the default: reload the configuration then.
//
// CLI Example:
//
//	salt '*' firewalld.new_zone my_zone
func (m *module) newZone(ctx context.Context, a zoneRestartArgs) (any, error) {
	return m.manage(ctx, "--new-zone="+a.Zone, a.Restart)
}

// deleteZone removes a zone in the permanent configuration.
//
// restart
//
//	True, the default: reload the configuration then.
//
// CLI Example:
//
//	salt '*' firewalld.delete_zone my_zone
func (m *module) deleteZone(ctx context.Context, a zoneRestartArgs) (any, error) {
	return m.manage(ctx, "--delete-zone="+a.Zone, a.Restart)
}
