package firewalld

import (
	"context"
)

type noArgs struct{}

type nameZoneArgs struct{ Zone string }

// version returns the version of firewalld.
//
// CLI Example:
//
//	salt '*' firewalld.version
func (m *module) version(ctx context.Context, a noArgs) (any, error) {
	return m.cmd(ctx, false, "--version")
}

// reloadRules makes the permanent configuration the current one, without loss of connections.
//
// CLI Example:
//
//	salt '*' firewalld.reload_rules
func (m *module) reloadRules(ctx context.Context, a noArgs) (any, error) {
	return m.cmd(ctx, false, "--reload")
}

// defaultZone returns the zone for connections and interfaces that have no other.
//
// CLI Example:
//
//	salt '*' firewalld.default_zone
func (m *module) defaultZone(ctx context.Context, a noArgs) (any, error) {
	return m.cmd(ctx, false, "--get-default-zone")
}

// makePermanent makes the current configuration the permanent one.
//
// CLI Example:
//
//	salt '*' firewalld.make_permanent
func (m *module) makePermanent(ctx context.Context, a noArgs) (any, error) {
	return m.cmd(ctx, false, "--runtime-to-permanent")
}

// setDefaultZone sets the zone for connections and interfaces that have no other.
//
// CLI Example:
//
//	salt '*' firewalld.set_default_zone damian
func (m *module) setDefaultZone(ctx context.Context, a nameZoneArgs) (any, error) {
	return m.cmd(ctx, false, "--set-default-zone="+a.Zone)
}
